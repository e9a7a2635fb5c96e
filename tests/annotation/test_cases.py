"""Every worked value of the shared cases, under its name: published statistics and published agreement of real ratings."""

import csv
import gzip
import json
from collections import Counter, defaultdict

import numpy as np
import pytest

from annotation.domain.agreement import agreement
from annotation.domain.coefficients import icc
from annotation.domain.consensus import chance_of_agreement
from annotation.domain.dawid_skene import dawid_skene
from annotation.domain.ratings import Rating
from evaluation.domain.norms import cohort_norm, sear_reward
from evaluation.domain.statistics import adjusted, mcnemar_chi2, rate_estimate

_ = None
KRIPPENDORFF = [
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
ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def by_rater(rows):
    return [Rating(i, r, value) for r, row in enumerate(rows) for i, value in enumerate(row) if value is not None]


def crossed(table):
    cells = [(a, b) for a, row in enumerate(table) for b, times in enumerate(row) for _time in range(times)]
    return [Rating(i, rater, value) for i, pair in enumerate(cells) for rater, value in zip("ab", pair, strict=True)]


def value_of(ratings, name, **options):
    return agreement(ratings, names=[name], replicates=2, **options).estimates[name].value


WORKED = {
    "krippendorff-2011/alpha_nominal": (by_rater(KRIPPENDORFF), "alpha_nominal", 0.743),
    "krippendorff-2011/alpha_ordinal": (by_rater(KRIPPENDORFF), "alpha_ordinal", 0.815),
    "krippendorff-2011/alpha_interval": (by_rater(KRIPPENDORFF), "alpha_interval", 0.849),
    "krippendorff-2011/alpha_ratio": (by_rater(KRIPPENDORFF), "alpha_ratio", 0.797),
    "wikipedia-3x15/alpha_nominal": (by_rater(WIKIPEDIA), "alpha_nominal", 0.691),
    "wikipedia-3x15/alpha_interval": (by_rater(WIKIPEDIA), "alpha_interval", 0.811),
    "gwet-raw4raters/percent_agreement": (by_rater(GWET), "percent_agreement", 0.818),
    "gwet-raw4raters/ac1": (by_rater(GWET), "ac1", 0.775),
    "gwet-raw4raters/fleiss": (by_rater(GWET), "fleiss", 0.761),
    "gwet-raw4raters/conger": (by_rater(GWET), "conger", 0.763),
    "gwet-raw4raters/brennan_prediger": (by_rater(GWET), "brennan_prediger", 0.773),
    "gwet-raw4raters/alpha_nominal": (by_rater(GWET), "alpha_nominal", 0.743),
    "gwet-raw4raters/ac2_quadratic": (by_rater(GWET), "ac2", 0.914),
    "contingency-3x3/cohen_kappa": (crossed(ABSTRACTORS), "cohen_kappa", 0.7964),
    "contingency-3x3/scott_pi": (crossed(ABSTRACTORS), "fleiss", 0.7962),
    "contingency-3x3/ac1": (crossed(ABSTRACTORS), "ac1", 0.8493),
    "contingency-3x3/brennan_prediger": (crossed(ABSTRACTORS), "brennan_prediger", 0.835),
    "contingency-3x3/alpha_nominal": (crossed(ABSTRACTORS), "alpha_nominal", 0.7973),
    "contingency-3x3/qwk": (crossed(ABSTRACTORS), "qwk", 0.8922),
    "prevalence-low/percent_agreement": (crossed([[40, 9], [6, 45]]), "percent_agreement", 0.85),
    "prevalence-low/cohen_kappa": (crossed([[40, 9], [6, 45]]), "cohen_kappa", 0.70),
    "prevalence-high/percent_agreement": (crossed([[80, 10], [5, 5]]), "percent_agreement", 0.85),
    "prevalence-high/cohen_kappa": (crossed([[80, 10], [5, 5]]), "cohen_kappa", 0.32),
    "prevalence-high/ac1": (crossed([[80, 10], [5, 5]]), "ac1", 0.81),
    "shrout-fleiss-1979/icc_1_1": (by_rater(np.transpose(SHROUT_FLEISS).tolist()), "icc_1_1", 0.17),
    "shrout-fleiss-1979/icc_a_1": (by_rater(np.transpose(SHROUT_FLEISS).tolist()), "icc_a_1", 0.29),
    "shrout-fleiss-1979/icc_c_1": (by_rater(np.transpose(SHROUT_FLEISS).tolist()), "icc_c_1", 0.71),
    "shrout-fleiss-1979/icc_1_k": (by_rater(np.transpose(SHROUT_FLEISS).tolist()), "icc_1_k", 0.44),
    "shrout-fleiss-1979/icc_a_k": (by_rater(np.transpose(SHROUT_FLEISS).tolist()), "icc_a_k", 0.62),
    "shrout-fleiss-1979/icc_c_k": (by_rater(np.transpose(SHROUT_FLEISS).tolist()), "icc_c_k", 0.91),
}


def _half_unit(number) -> float:
    """Half a unit in the last published digit."""
    return 0.5 * 10 ** -len(f"{number}".split(".")[1]) + 1e-4


@pytest.mark.parametrize("name", WORKED)
def test_worked_value_of_agreement(name):
    ratings, coefficient, published = WORKED[name]

    assert value_of(ratings, coefficient) == pytest.approx(published, abs=_half_unit(published))


def test_gwet_raw4raters_ac1_se():
    """Gwet's standard error is 0.143; half of our interval over 1.96 is one, too, from 11 items only."""
    found = agreement(by_rater(GWET), names=["ac1"]).estimates["ac1"]

    assert (found.hi - found.lo) / 2 / 1.96 == pytest.approx(0.143, abs=0.03)


@pytest.mark.parametrize("form", ["1_1", "a_1", "c_1", "1_k", "a_k", "c_k"])
def test_icc_of_the_whole_table_is_that_of_its_formula(form):
    by_formula = icc(np.asarray(SHROUT_FLEISS, dtype=float), form)(np.ones((1, 6)))[0]

    assert value_of(WORKED[f"shrout-fleiss-1979/icc_{form}"][0], f"icc_{form}") == pytest.approx(by_formula)


@pytest.mark.parametrize(
    ("hits", "n", "lo", "hi"), [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)]
)
def test_wilson_newcombe_1998(hits, n, lo, hi):
    found = rate_estimate(hits, n)

    assert (round(found.lo, 4), round(found.hi, 4)) == (lo, hi)


def test_mcnemar_agresti():
    assert mcnemar_chi2([[794, 150], [86, 570]]) == pytest.approx(17.36, abs=0.006)
    assert pytest.approx(0.04) == (150 - 86) / (794 + 150 + 86 + 570)


METHODS = {"bh": "fdr_bh", "holm": "holm", "bonferroni": "bonferroni"}


def test_benjamini_hochberg_1995():
    p = [
        0.0001,
        0.0004,
        0.0019,
        0.0095,
        0.0201,
        0.0278,
        0.0298,
        0.0344,
        0.0459,
        0.324,
        0.4262,
        0.5719,
        0.6528,
        0.759,
        1.0,
    ]

    rejected = {rule: sum(value <= 0.05 for value in adjusted(p, method=method)) for rule, method in METHODS.items()}

    assert rejected == {"bh": 4, "holm": 3, "bonferroni": 3}


def test_k_of_n_chance():
    assert chance_of_agreement(people=4, needed=3, shares=[0.25] * 4) == pytest.approx(0.203, abs=5e-4)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [([[2, 2, 2], [2, 2, 2]], "no variation"), ([[1, None], [None, 2]], "no item has two ratings")],
)
@pytest.mark.parametrize("name", ["alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss", "cohen_kappa", "qwk"])
def test_degenerate(rows, reason, name):
    found = agreement(by_rater(rows), names=[name]).estimates[name]

    assert (found.value, found.reason) == (None, reason)
    assert "NaN" not in json.dumps(found.as_dict())


ABAW = {
    "all": {"happy": 0.39, "sad": 0.27, "anger": 0.38, "surprise": 0.29, "disgust": 0.22, "fear": 0.33},
    "acted": {"happy": 0.21, "sad": 0.24, "anger": 0.40, "surprise": 0.33, "disgust": 0.20, "fear": 0.41},
    "wild": {"happy": 0.39, "sad": 0.27, "anger": 0.32, "surprise": 0.22, "disgust": 0.20, "fear": 0.09},
}
"""Published alpha, interval level, of levels 0 to 3 ("None" is 0), of the clips without a note."""


def rows_of(shared, name):
    with gzip.open(shared / "data" / "ratings" / name, "rt", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


@pytest.fixture(scope="module")
def abaw():
    return {}


@pytest.mark.parametrize(("corpus", "emotion"), [(corpus, emotion) for corpus in ABAW for emotion in ABAW[corpus]])
def test_abaw2023_alpha_interval(shared, abaw, corpus, emotion):
    if not abaw:
        rows = rows_of(shared, "abaw2023.csv.gz")
        noted = {row["item"] for row in rows if row["note"]}
        abaw["rows"] = [row for row in rows if row["item"] not in noted]
    ratings = [
        Rating(row["item"], row["rater"], row["value"])
        for row in abaw["rows"]
        if row["dimension"] == emotion and corpus in ("all", row["corpus"])
    ]

    found = value_of(ratings, "alpha_interval", domain=(0, 1, 2, 3))

    assert found == pytest.approx(ABAW[corpus][emotion], abs=0.0051)


def test_abaw2023_items_kept(shared):
    """317 clips bear no note and are kept. The paper counts 347 in all; the file that came with it has 348."""
    rows = rows_of(shared, "abaw2023.csv.gz")
    noted = {row["item"] for row in rows if row["note"]}

    kept = {row["item"] for row in rows} - noted

    assert len(kept) == 317
    assert kept == {row["item"] for row in rows if row["keep"] == "keep"}
    assert len({row["item"] for row in rows}) - 347 == 1


@pytest.mark.parametrize(
    ("file", "column", "coefficient", "published"),
    [
        ("krippendorff_C.csv.gz", "value", "alpha_nominal", 0.743),
        ("krippendorff_C.csv.gz", "value", "alpha_ordinal", 0.815),
        ("krippendorff_C.csv.gz", "value", "alpha_interval", 0.849),
        ("krippendorff_C.csv.gz", "value", "alpha_ratio", 0.797),
        ("fleiss1971.csv.gz", "value", "fleiss", 0.43),
        ("artstein_poesio.csv.gz", "label", "percent_agreement", 0.88),
        ("artstein_poesio.csv.gz", "label", "fleiss", 0.79953),
        ("artstein_poesio.csv.gz", "label", "brennan_prediger", 0.82),
    ],
    ids=[
        "krippendorff-C-nominal", "krippendorff-C-ordinal", "krippendorff-C-interval", "krippendorff-C-ratio",
        "fleiss1971-kappa", "artstein_poesio-observed", "artstein_poesio-scott_pi", "artstein_poesio-bennett_S",
    ],
)  # fmt: skip
def test_published_agreement_of_real_ratings(shared, file, column, coefficient, published):
    ratings = [Rating(row["item"], row["rater"], row[column]) for row in rows_of(shared, file)]

    assert value_of(ratings, coefficient) == pytest.approx(published, abs=max(5e-4, _half_unit(published)))


def test_dawid_skene_class_marginals(shared):
    rows = rows_of(shared, "dawid_skene_anaesthetists.csv.gz")
    codes = {name: np.array([int(float(row[name])) - 1 for row in rows]) for name in ("item", "rater", "rating")}

    found = dawid_skene(item=codes["item"], rater=codes["rater"], value=codes["rating"], values=4)

    assert found.converged
    assert found.priors.tolist() == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)
    assert np.allclose(found.confusion.sum(axis=2), 1)


def test_snow_wsd_majority_vote_accuracy(shared):
    """Ties count by the chance that a coin thrown over them hits; our own rule leaves them as ties."""
    labels, gold = defaultdict(list), {}
    for row in rows_of(shared, "snow_wsd.csv.gz"):
        labels[row["item"]].append(row["label"])
        gold[row["item"]] = row["gold"]
    hits = 0.0
    for item, given in labels.items():
        counted = Counter(given)
        first = [label for label, n in counted.items() if n == max(counted.values())]
        hits += (gold[item] in first) / len(first)

    assert hits / len(labels) == pytest.approx(0.994, abs=5e-4)


def test_speecheq_seq():
    accuracies = [0.25, 0.358, 0.403, 0.306, 0.26, 0.583, 0.242, 0.271, 0.365, 0.449, 0.317]
    published = [88.39, 107.22, 115.29, 98.12, 89.88, 147.26, 86.59, 91.76, 108.55, 123.45, 100.0]

    norm = cohort_norm({str(n): value for n, value in enumerate(accuracies)}, metric="acc_traj")
    assert [norm.seq(value) for value in accuracies] == pytest.approx(published, abs=0.3)


@pytest.mark.parametrize(("difference", "published"), [(0, 2.0), (1, 0.2707), (2, 0.0366), (3, 0.0)])
def test_emos_sear(difference, published):
    assert sear_reward(1, 1 + difference) == pytest.approx(published, abs=5e-5)


def test_every_shared_case_has_its_test(shared):
    """A case or value that is added to the shared files must be named here."""
    cases = json.loads((shared / "cases" / "statistics.json").read_text())
    named = {case["id"] for case in cases if case["kind"] not in ("ratings", "table", "icc")}
    values = {
        f"{case['id']}/{name}"
        for case in cases
        for name in case.get("expect", {})
        if case["kind"] in ("ratings", "table", "icc")
    }
    published = json.loads((shared / "data" / "ratings" / "expected.json").read_text())

    assert values == {*WORKED, "gwet-raw4raters/ac1_se"}
    assert named == {
        "wilson-newcombe-1998", "mcnemar-agresti", "benjamini-hochberg-1995", "speecheq-seq", "emos-sear", "k-of-n-chance", "degenerate",
    }  # fmt: skip
    assert Counter(entry["dataset"] for entry in published) == {
        "abaw2023": 19, "krippendorff C data": 4, "fleiss1971": 1, "dawid_skene": 1, "artstein_poesio": 3, "snow2008 wsd": 1,
    }  # fmt: skip
    for entry in published:
        if entry["metric"].startswith("alpha_interval/"):
            _level, corpus, emotion = entry["metric"].split("/")
            assert ABAW[corpus][emotion] == entry["published"]
