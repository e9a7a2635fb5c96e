"""Agreement against published worked examples, against the package, and by its properties."""

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.domain.agreement import (
    FEW_COMMON,
    FEW_RATERS,
    ICC,
    NAMES,
    NO_OVERLAP,
    NO_RATINGS,
    NO_VARIATION,
    NOMINAL,
    WORDS,
    agreement,
)
from annotation.domain.ratings import Rating
from eqstudio.errors import InvalidInput

_ = None
KRIPPENDORFF_2011 = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
WIKIPEDIA = [
    [_, _, _, _, _, 3, 4, 1, 2, 1, 1, 3, 3, _, 3],
    [1, _, 2, 1, 3, 3, 4, 3, _, _, _, _, _, _, _],
    [_, _, 2, 1, 3, 4, 4, _, 2, 1, 1, 3, 3, _, 4],
]
GWET = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, _],
    [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
]
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def by_rater(rows) -> list[Rating]:
    """Ratings from a table raters x items with gaps."""
    return [Rating(i, r, value) for r, row in enumerate(rows) for i, value in enumerate(row) if value is not None]


def crossed(table) -> list[Rating]:
    """Ratings of two raters from their contingency table."""
    cells = [(a, b) for a, row in enumerate(table) for b, times in enumerate(row) for _ in range(times)]
    return [Rating(i, rater, value) for i, pair in enumerate(cells) for rater, value in zip("ab", pair, strict=True)]


def value_of(ratings, name, **options) -> float:
    return agreement(ratings, names=[name], replicates=2, **options).estimates[name].value


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([], NO_RATINGS),
        ([Rating(1, "a", 2), Rating(2, "a", 3)], FEW_RATERS),
        ([Rating(1, "a", 2), Rating(2, "b", 3)], NO_OVERLAP),
    ],
)
def test_without_pairs_everything_is_undefined_for_one_reason(ratings, reason):
    found = agreement(ratings)

    assert {estimate.reason for estimate in found.estimates.values()} == {reason}
    assert {estimate.value for estimate in found.estimates.values()} == {None}


def test_ratings_that_are_all_equal_say_no_variation_and_full_percent_agreement():
    found = agreement([Rating(i, r, 3) for i in range(4) for r in "ab"], domain=(1, 2, 3, 4)).estimates

    assert found["percent_agreement"].value == 1.0
    assert found["ac1"].value == 1.0
    undefined = {name: estimate.reason for name, estimate in found.items() if estimate.value is None}
    assert undefined == dict.fromkeys(
        [
            "alpha_nominal",
            "alpha_ordinal",
            "alpha_interval",
            "alpha_ratio",
            "fleiss",
            "conger",
            "cohen_kappa",
            "qwk",
            *ICC,
        ],
        NO_VARIATION,
    )


def test_words_have_nominal_coefficients_only():
    ratings = [Rating(i, r, "keep" if (i + (r == "b")) % 3 else "reject") for i in range(9) for r in "ab"]

    found = agreement(ratings).estimates

    assert {name for name, estimate in found.items() if estimate.value is not None} == set(NOMINAL)
    assert found["alpha_ordinal"].reason == WORDS


def test_numbers_that_came_as_text_are_numbers():
    as_text = [Rating(rating.item, rating.rater, str(rating.value)) for rating in by_rater(KRIPPENDORFF_2011)]

    assert value_of(as_text, "alpha_interval") == value_of(by_rater(KRIPPENDORFF_2011), "alpha_interval")


def test_a_nominal_scale_of_numbers_has_no_distances():
    found = agreement(by_rater(GWET), level="nominal", replicates=2).estimates

    assert found["qwk"].reason == "the scale is nominal, without order or distance"
    assert found["alpha_nominal"].value == pytest.approx(0.743, abs=0.001)


def test_a_value_outside_the_scale_is_refused():
    with pytest.raises(InvalidInput, match="5 is not on the scale 1, 2, 3, 4"):
        agreement(by_rater(GWET), domain=(1, 2, 3, 4))


def test_the_last_rating_of_a_rater_counts():
    ratings = [Rating(1, "a", 1), Rating(1, "b", 2), Rating(2, "a", 2), Rating(2, "b", 2), Rating(1, "a", 2)]

    found = agreement(ratings, names=["percent_agreement"])

    assert (found.ratings, found.estimates["percent_agreement"].value) == (4, 1.0)


def test_many_raters_with_hardly_a_common_item_have_no_pairwise_kappa():
    ratings = [Rating(i, r, (i + r) % 4) for i in range(60) for r in (i, i + 1)]

    assert agreement(ratings, names=["cohen_kappa"]).estimates["cohen_kappa"].reason == FEW_COMMON


def test_an_interval_is_the_same_on_every_run_and_contains_the_value():
    first, second = (agreement(by_rater(GWET)).estimates for _ in range(2))

    assert first == second
    for estimate in first.values():
        assert estimate.lo <= estimate.value <= estimate.hi


def test_resampling_whole_dialogues_widens_the_interval_when_their_items_are_alike():
    rng = np.random.default_rng(1)
    ratings, clusters = [], {}
    for dialogue in range(25):
        quality = rng.integers(1, 5)
        same = rng.random() < 0.5
        for variant in range(8):
            item = (dialogue, variant)
            clusters[item] = dialogue
            ratings += [
                Rating(item, "a", int(quality)),
                Rating(item, "b", int(quality if same else rng.integers(1, 5))),
            ]

    def width(**options):
        found = agreement(ratings, names=["alpha_ordinal"], **options).estimates["alpha_ordinal"]
        return found.hi - found.lo

    assert width(clusters=clusters) > 1.5 * width()


def test_the_grouped_bootstrap_agrees_with_one_that_draws_items_one_by_one():
    rng = np.random.default_rng(7)
    true = rng.integers(1, 5, 120)
    matrix = np.clip(true[:, None] + rng.integers(-1, 2, (120, 3)), 1, 4)
    found = agreement([Rating(i, r, int(v)) for (i, r), v in np.ndenumerate(matrix)], names=["alpha_ordinal"])

    naive = []
    for _ in range(300):
        drawn = matrix[rng.integers(0, 120, 120)]
        counts = np.stack([(drawn == value).sum(axis=1) for value in range(1, 5)], axis=1)
        naive.append(krippendorff.alpha(value_counts=counts, value_domain=[1, 2, 3, 4], level_of_measurement="ordinal"))

    estimate = found.estimates["alpha_ordinal"]
    assert estimate.lo == pytest.approx(np.quantile(naive, 0.025), abs=0.02)
    assert estimate.hi == pytest.approx(np.quantile(naive, 0.975), abs=0.02)


tables = st.lists(
    st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=3, max_size=3), min_size=1, max_size=12
).map(lambda rows: [list(column) for column in zip(*rows, strict=True)])


@settings(max_examples=60, deadline=None)
@given(tables)
def test_coefficients_stay_within_bounds(rows):
    found = agreement(by_rater(rows), domain=(1, 2, 3, 4), replicates=20).estimates

    assert tuple(found) == NAMES
    for name, estimate in found.items():
        for edge in (estimate.value, estimate.lo, estimate.hi):
            assert edge is None or edge <= 1.0 + 1e-9, name
    percent = found["percent_agreement"].value
    assert percent is None or 0.0 <= percent <= 1.0


@settings(max_examples=60, deadline=None)
@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_items_and_raters_does_not_matter(rows, rng):
    ratings = by_rater(rows)
    mixed = [Rating(f"item {r.item}", f"rater {r.rater}", r.value) for r in ratings]
    rng.shuffle(mixed)

    before = agreement(ratings, domain=(1, 2, 3, 4), replicates=2).estimates
    after = agreement(mixed, domain=(1, 2, 3, 4), replicates=2).estimates

    for name in NAMES:
        assert after[name].value == (
            None if before[name].value is None else pytest.approx(before[name].value, abs=1e-9)
        ), name


@settings(max_examples=60, deadline=None)
@given(tables, st.permutations([1, 2, 3, 4]))
def test_nominal_coefficients_do_not_care_what_the_labels_are(rows, labels):
    ratings = by_rater(rows)
    renamed = [Rating(r.item, r.rater, labels[r.value - 1]) for r in ratings]

    before = agreement(ratings, domain=(1, 2, 3, 4), names=NOMINAL, replicates=2).estimates
    after = agreement(renamed, domain=(1, 2, 3, 4), names=NOMINAL, replicates=2).estimates

    for name in NOMINAL:
        assert after[name].value == (
            None if before[name].value is None else pytest.approx(before[name].value, abs=1e-9)
        ), name


@settings(max_examples=60, deadline=None)
@given(tables)
def test_reversing_the_scale_changes_no_ordered_coefficient(rows):
    names = ["alpha_ordinal", "alpha_interval", "ac2", "qwk", *ICC]
    before = agreement(by_rater(rows), domain=(1, 2, 3, 4), names=names, replicates=2).estimates
    turned = [Rating(r.item, r.rater, 5 - r.value) for r in by_rater(rows)]
    after = agreement(turned, domain=(1, 2, 3, 4), names=names, replicates=2).estimates

    for name in names:
        assert after[name].value == (
            None if before[name].value is None else pytest.approx(before[name].value, abs=1e-9)
        ), name


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=5, max_size=12).filter(lambda values: len(set(values)) > 1))
def test_raters_who_always_agree_have_one(values):
    found = agreement([Rating(i, r, v) for i, v in enumerate(values) for r in "abc"], domain=(1, 2, 3, 4), replicates=2)

    assert {name: round(estimate.value, 9) for name, estimate in found.estimates.items()} == dict.fromkeys(NAMES, 1.0)


def test_one_dialogue_has_a_value_and_no_interval():
    ratings = [
        Rating(item, rater, value)
        for item, pair in enumerate([(1, 1), (1, 2), (3, 3), (4, 3)])
        for rater, value in enumerate(pair)
    ]
    one = dict.fromkeys(range(4), "dialogue")
    two = {**one, 3: "another"}

    alone = agreement(ratings, domain=(1, 2, 3, 4), clusters=one).estimates
    both = agreement(ratings, domain=(1, 2, 3, 4), clusters=two).estimates

    assert all((found.lo, found.hi) == (None, None) for found in alone.values())
    assert {name: found.value for name, found in alone.items()} == {name: found.value for name, found in both.items()}
    assert (alone["alpha_ordinal"].n, both["alpha_ordinal"].lo is None) == (4, False)
