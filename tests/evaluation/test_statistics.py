"""Intervals, tests, norms: published values, hand-computed ones, and properties that must always hold."""

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests

from eqstudio.benchmarks.base import Metric, Score
from eqstudio.estimates import Estimate
from evaluation.domain.baselines import crossed_compare, mean_person
from evaluation.domain.metrics import Mark, item_figures, majority, sheets_build
from evaluation.domain.norms import NoNorm, cohort_norm, sear_reward
from evaluation.domain.resampling import Resampling
from evaluation.domain.statistics import (
    adjusted,
    clustered_se,
    mcnemar_chi2,
    mcnemar_exact,
    mean_estimate,
    paired_compare,
    rate_estimate,
    sign_flip_p,
)

PUBLISHED_TRAJECTORIES = [0.25, 0.358, 0.403, 0.306, 0.26, 0.583, 0.242, 0.271, 0.365, 0.449, 0.317]
PUBLISHED_SEQ = [88.39, 107.22, 115.29, 98.12, 89.88, 147.26, 86.59, 91.76, 108.55, 123.45, 100.0]
PUBLISHED_P = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528]
PUBLISHED_P += [0.759, 1.0]


def rng():
    return np.random.default_rng(1)


def against(people, other, clusters=None):
    names = clusters or [str(n) for n in range(people.shape[1])]
    drawn = Resampling.draw(names, len(people), rng=rng())
    return crossed_compare(people, np.asarray(other, dtype=float), names, resampling=drawn, rng=rng())


def resampled(matrix):
    return Resampling.draw([str(n) for n in range(matrix.shape[1])], matrix.shape[0], rng=rng())


@pytest.mark.parametrize(
    ("right", "n", "lo", "hi"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_published(right, n, lo, hi):
    found = rate_estimate(right, n)
    assert (round(found.lo, 4), round(found.hi, 4), found.n) == (lo, hi, n)


def test_nothing_asked_is_undefined():
    assert rate_estimate(0, 0).reason == "nothing was asked"
    assert mean_estimate([], rng=rng()).reason == "nothing was asked"


def test_mcnemar_as_published():
    assert round(mcnemar_chi2([[794, 150], [86, 570]]), 2) == 17.36


def test_mcnemar_exact_by_hand():
    assert mcnemar_exact(5, 1) == pytest.approx(2 * (1 + 6) / 64)
    assert mcnemar_exact(0, 0) == 1.0


@pytest.mark.parametrize(("method", "rejected"), [("holm", 3), ("fdr_bh", 4), ("bonferroni", 3)])
def test_corrections_as_published(method, rejected):
    assert sum(p <= 0.05 for p in adjusted(PUBLISHED_P, method=method)) == rejected


def test_no_family_needs_no_correction():
    assert adjusted([]) == []


def test_clustered_error_is_that_of_the_regression():
    values = rng().normal(size=60)
    clusters = [str(n // 3) for n in range(60)]
    groups = [n // 3 for n in range(60)]
    model = OLS(values, np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": np.asarray(groups), "use_correction": False}
    )
    assert clustered_se(values, clusters, small_sample=False) == pytest.approx(float(model.bse[0]))


def test_one_item_a_cluster_is_the_usual_error():
    values = [0.2, 0.4, 0.9, 0.1]
    assert clustered_se(values, list("abcd")) == pytest.approx(float(np.std(values, ddof=1)) / 2)


def test_shares_use_wilson_and_fractions_do_not():
    assert mean_estimate([1, 0, 1, 1], rng=rng()) == rate_estimate(3, 4)
    half = mean_estimate([0.5, 1, 0, 0.5, 1, 0], rng=rng())
    assert (half.value, half.n) == (0.5, 6)
    assert 0 < half.lo < 0.5 < half.hi < 1


def test_many_clusters_use_the_robust_interval():
    values = [float(n % 2) / 2 + 0.25 for n in range(120)]
    clusters = [str(n // 3) for n in range(120)]
    found = mean_estimate(values, clusters, rng=rng())
    from scipy import stats

    half = stats.t.ppf(0.975, 39) * clustered_se(values, clusters)
    assert (found.lo, found.hi) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))


def test_one_cluster_has_no_interval():
    assert mean_estimate([1, 0], ["a", "a"], rng=rng()) == Estimate(0.5, None, None, 2)


def test_paired_difference_by_hand():
    found = paired_compare({1: 1, 2: 1, 3: 1, 4: 0, 9: 1}, {1: 0, 2: 0, 3: 1, 4: 0, 8: 1}, rng=rng())
    assert (found.difference.value, found.difference.n, found.p, found.test) == (0.5, 4, 0.5, "exact McNemar")


def test_grades_one_step_apart_are_told_as_a_sign_test():
    """Three ahead, none behind: 2 / 2 ** 3. McNemar's test is for zeros and ones."""
    found = paired_compare({1: 4, 2: 5, 3: 2, 4: 3}, {1: 3, 2: 4, 3: 1, 4: 3}, rng=rng())
    assert (found.p, found.test, found.discordant) == (0.25, "exact sign test", (3, 0))


def test_no_common_item_is_undefined():
    found = paired_compare({1: 1}, {2: 1}, rng=rng())
    assert (found.difference.reason, found.p) == ("no item was answered by both", None)


def test_equal_respondents_are_not_told_apart():
    same = {n: n / 10 for n in range(10)}
    found = paired_compare(same, same, rng=rng())
    assert (found.difference, found.p, found.mde) == (Estimate(0.0, None, None, 10), 1.0, None)


def test_sign_flips_by_hand():
    assert sign_flip_p(np.asarray([1.0, 1.0, 1.0]), rng=rng()) == 2 / 8
    assert sign_flip_p(np.asarray([0.0, 0.0]), rng=rng()) == 1.0


def test_the_multinomial_bootstrap_is_the_plain_one():
    differences = [1.0] * 12 + [0.0] * 20 + [-1.0] * 4
    found = paired_compare(dict(enumerate(differences)), dict.fromkeys(range(36), 0.0), rng=rng())
    plain = [fmean(rng_.choice(differences, size=36)) for rng_ in map(np.random.default_rng, range(3_000))]
    lo, hi = np.percentile(plain, [2.5, 97.5])
    assert found.difference.lo == pytest.approx(lo, abs=0.03)
    assert found.difference.hi == pytest.approx(hi, abs=0.03)


def test_people_and_items_are_resampled_together():
    people = np.asarray([[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, np.nan], [np.nan, 1.0, 1.0, 1.0]])
    resampling = resampled(people)
    found = mean_person(people, resampling)
    assert found.value == pytest.approx(fmean([0.75, 2 / 3, 1.0]))
    assert (found.n, found.lo < found.value <= found.hi) == (4, True)
    told = against(people, [0.0, 0.0, 0.0, np.nan])
    assert (told.difference.n, told.difference.value > 0) == (3, True)


@pytest.mark.parametrize(
    ("people", "clusters", "test"),
    [
        (np.ones((1, 5)), None, "one person"),
        (np.asarray([[1.0, 1.0, 1.0], [np.nan] * 3]), None, "one person"),
        (np.ones((5, 1)), None, "one cluster"),
        (np.ones((3, 4)), ["wedding"] * 4, "one cluster"),
    ],
)
def test_one_person_or_one_cluster_against_a_system_has_neither_interval_nor_p(people, clusters, test):
    told = against(people, np.zeros(people.shape[1]), clusters)
    assert told.difference == Estimate(1.0, None, None, people.shape[1])
    assert (told.p, told.mde, told.test) == (None, None, test)


def test_people_the_same_step_ahead_on_every_item_are_told_by_sign_flips():
    """Five items, all one way: 2 / 2 ** 5, as the exact McNemar test of two respondents has it."""
    told = against(np.ones((3, 5)), np.zeros(5))
    assert (told.p, told.test, told.mde, told.difference.hi) == (0.0625, "sign flips of clusters", None, 1.0)
    assert told.difference.lo == pytest.approx(1 - 2 * rate_estimate(0, 5).hi)
    even = against(np.ones((3, 20)), np.ones(20))
    assert (even.p, even.difference.lo, even.difference.hi) == (1.0, -even.difference.hi, rate_estimate(0, 20).hi)


def test_few_items_are_never_surer_than_their_sign_flips():
    people = np.asarray([[1.0, 1.0, 1.0, 0.9], [0.8, 1.0, 0.7, 1.0]])
    told = against(people, np.zeros(4))
    assert (told.p, told.test, told.mde > 0) == (2 / 2**4, "sign flips of clusters", True)


def test_clusters_that_are_all_alike_are_not_certain():
    clusters = [str(n // 4) for n in range(20)]
    found = mean_estimate([1.0] * 20, clusters, rng=rng())
    assert (found.lo, found.hi, found.n) == (rate_estimate(5, 5).lo, 1.0, 20)
    assert mean_estimate([3.0] * 4, rng=rng(), bounds=(1, 5)) == Estimate(3.0, None, None, 4)


def test_differences_that_are_all_alike_are_not_certain():
    ahead = paired_compare(dict.fromkeys(range(5), 1), dict.fromkeys(range(5), 0), rng=rng())
    assert (ahead.p, ahead.mde, ahead.difference.hi) == (0.0625, None, 1.0)
    assert ahead.difference.lo == pytest.approx(1 - 2 * rate_estimate(0, 5).hi)
    even = paired_compare(dict.fromkeys(range(5), 1), dict.fromkeys(range(5), 1), rng=rng())
    assert (even.difference.lo, even.difference.hi, even.mde) == (-rate_estimate(0, 5).hi, rate_estimate(0, 5).hi, None)


def test_resampling_is_not_asked_where_it_has_no_spread():
    for matrix, expected in (
        (np.ones((3, 20)), rate_estimate(20, 20)),
        (np.zeros((2, 5)), rate_estimate(0, 5)),
        (np.asarray([[1.0], [0.0]]), Estimate(0.5, None, None, 1)),
    ):
        assert mean_person(matrix, resampled(matrix)) == expected


def test_nobody_is_undefined():
    nobody = np.full((2, 3), np.nan)
    assert mean_person(nobody, resampled(nobody)).reason == "nobody has answered"
    assert against(nobody, np.zeros(3)).p is None


def test_seq_as_published():
    norm = cohort_norm({str(n): value for n, value in enumerate(PUBLISHED_TRAJECTORIES)}, metric="acc_traj")
    assert norm.centre == 0.317
    for value, seq in zip(PUBLISHED_TRAJECTORIES, PUBLISHED_SEQ, strict=True):
        assert norm.seq(value) == pytest.approx(seq, abs=0.3)


def test_seq_is_clipped_at_four_deviations():
    norm = cohort_norm({"a": 0.1, "b": 0.2, "c": 0.3}, metric="acc_traj")
    assert (norm.seq(1.0), norm.seq(-1.0)) == (160.0, 40.0)


def test_seq_keeps_the_interval_of_its_figure():
    norm = cohort_norm({"a": 0.1, "b": 0.2, "c": 0.3}, metric="acc_traj")
    found = norm.estimate(Estimate(0.2, 0.1, 0.3, 15))
    assert (found.value, round(found.lo, 2), round(found.hi, 2), found.n) == (100.0, 89.88, 110.12, 15)
    assert norm.estimate(Estimate.undefined("nothing was asked")).reason == "nothing was asked"


def test_seq_falls_back_where_the_mad_is_nothing():
    norm = cohort_norm({"a": 0.2, "b": 0.2, "c": 0.2, "d": 0.6}, metric="acc_traj")
    assert (norm.recipe, norm.spread) == ("median, 1.2533 mean absolute deviation", pytest.approx(1.2533 * 0.1))


@pytest.mark.parametrize(
    ("values", "reason"),
    [({"a": 0.5, "b": 0.5, "c": 0.5}, "no variation"), ({"a": 0.1, "b": 0.2}, "fewer than three systems")],
)
def test_seq_is_undefined_without_a_cohort(values, reason):
    norm = cohort_norm(values, metric="acc_traj")
    assert isinstance(norm, NoNorm)
    assert reason in norm.reason


def test_sear_reward_as_published():
    assert [round(sear_reward(1, 1 + distance), 4) for distance in range(4)] == [2.0, 0.2707, 0.0366, 0.0]
    assert sear_reward(3, 2) == sear_reward(2, 3)


# From marks to item figures


def _acc(scores):
    return float(bool(scores["q"].correct)) if "q" in scores else None


ACCURACY = Metric("acc", {"en": "Accuracy", "zh": "正确率"}, _acc)


def sheet_of(*verdicts_by_run):
    """One item asked once a run: ``r`` right, ``w`` wrong, ``u`` not readable."""
    marks = [
        Mark(
            1,
            run,
            7,
            "q",
            "unparsed" if verdict == "u" else "answered",
            Score(correct={"r": True, "w": False}.get(verdict)),
        )
        for run, verdict in enumerate(verdicts_by_run)
    ]
    return sheets_build(marks)[1]


@pytest.mark.parametrize(
    ("runs", "figure"),
    [("r", 1.0), ("rw", 0.5), ("rwr", 1.0), ("ruu", 0.0), ("wwr", 0.0), ("rwww", 0.25), ("u", 0.0)],
)
def test_odd_runs_vote_and_others_are_averaged(runs, figure):
    assert item_figures(sheet_of(*runs), ACCURACY) == {7: figure}


def test_grades_vote_by_their_median():
    voted = majority([{"q": Score(correct=value == 2, value=value, gold=2.0)} for value in (1.0, 2.0, 4.0)])
    assert voted == {"q": Score(correct=True, value=2.0, gold=2.0)}


@pytest.mark.parametrize(
    ("values", "voted"),
    [
        ((3.0, None, None), Score(correct=False, gold=3.0)),
        ((3.0, 3.0, None, None), Score(correct=False, gold=3.0)),
        ((3.0, 4.0, None), Score(correct=True, value=3.0, gold=3.0)),
        ((2.0, 2.0, 3.0, 4.0), Score(correct=False, value=2.0, gold=3.0)),
        ((None, None, None), Score(gold=3.0)),
    ],
)
def test_grades_of_half_the_runs_are_no_majority_and_nobody_gives_half_a_grade(values, voted):
    runs = [{"q": Score(correct=None if value is None else value == 3, value=value, gold=3.0)} for value in values]
    assert majority(runs) == {"q": voted}


def test_outcomes_are_counted():
    sheet = sheet_of(*"ruw")
    assert (sheet.outcomes, sheet.answers) == ({"answered": 2, "unparsed": 1}, 3)


def test_what_was_not_asked_is_left_out():
    assert item_figures(sheet_of("r"), ACCURACY, only=[7, 8]) == {7: 1.0}
    assert item_figures(sheets_build([Mark(1, 0, 7, "other", "answered", Score(correct=True))])[1], ACCURACY) == {}


# What must hold for any numbers

SHARES = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=60)


@given(SHARES, st.integers(1, 5))
@settings(max_examples=60)
def test_an_estimate_lies_in_its_interval_and_in_bounds(values, size):
    clusters = [str(index // size) for index in range(len(values))]
    found = mean_estimate(values, clusters, rng=rng())
    assert found.value == pytest.approx(fmean(values))
    if found.lo is not None:
        assert 0 <= found.lo <= found.value + 1e-9
        assert found.value - 1e-9 <= found.hi <= 1


@given(SHARES, SHARES)
@settings(max_examples=60)
def test_a_comparison_is_antisymmetric(first, second):
    a, b = dict(enumerate(first)), dict(enumerate(second))
    one, other = paired_compare(a, b, rng=rng()), paired_compare(b, a, rng=rng())
    assert one.difference.value == pytest.approx(-other.difference.value)
    if one.p is not None:
        assert one.p == pytest.approx(other.p)
        assert 0 <= one.p <= 1


@given(st.lists(st.floats(0, 1), max_size=12))
@settings(max_examples=12, deadline=None)
def test_holm_is_what_the_library_gives(p_values):
    expected = multipletests(p_values, method="holm")[1] if p_values else []
    assert adjusted(p_values) == pytest.approx(list(expected), abs=1e-12)


@given(st.lists(st.floats(0, 1), max_size=12))
@settings(max_examples=12, deadline=None)
def test_corrected_p_is_never_smaller(p_values):
    for raw, corrected in zip(p_values, adjusted(p_values), strict=True):
        assert raw - 1e-12 <= corrected <= 1


@given(st.lists(st.floats(0, 1), min_size=3, max_size=12))
def test_seq_keeps_the_order_of_systems(values):
    norm = cohort_norm({str(n): value for n, value in enumerate(values)}, metric="acc_traj")
    if isinstance(norm, NoNorm):
        return
    for low, high in itertools.pairwise(sorted(values)):
        assert 40 <= norm.seq(low) <= norm.seq(high) <= 160
        assert math.isfinite(norm.seq(low))


def test_the_order_of_items_moves_no_p_value():
    seeded = np.random.default_rng(5)
    people, other = seeded.integers(0, 4, size=(3, 6)) / 3, seeded.integers(0, 4, size=6) / 3
    names = [str(item) for item in range(6)]
    resampling = Resampling.draw(names, 3, rng=seeded)

    found = set()
    for order in itertools.permutations(range(6)):
        columns = np.asarray(order, dtype=np.intp)
        told = crossed_compare(
            people[:, columns],
            other[columns],
            [names[n] for n in order],
            resampling=resampling.only(columns),
            rng=rng(),
        )
        found.add((told.p, f"{told.difference.lo:.12g}", f"{told.difference.hi:.12g}"))

    assert len(found) == 1
