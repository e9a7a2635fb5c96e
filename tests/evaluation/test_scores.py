"""Scores that are not a mean over items: slots, grades, human baselines, norms, power. Worked values are named."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eqstudio.benchmarks.base import Metric, Score
from eqstudio.estimates import Estimate
from evaluation.domain import baselines as bl
from evaluation.domain.grades import Given, grades_of
from evaluation.domain.metrics import Mark, sheets_build
from evaluation.domain.norms import NoNorm, cohort_norm, people_norm, published_norm, sear_reward
from evaluation.domain.power import Plan, design_effect, detectable, items_needed, power_at
from evaluation.domain.resampling import Resampling
from evaluation.domain.slots import Pick, sensitivity, slots_of
from evaluation.domain.statistics import adjusted, mcnemar_chi2, rate_estimate


def rng():
    return np.random.default_rng(5)


def resampled(items, people=0):
    return Resampling.draw([str(n) for n in range(items)], people, rng=rng(), replicates=400)


# Published and reference values (../shared/cases/statistics.json)


@pytest.fixture
def cases(shared):
    return {case["id"]: case for case in json.loads((shared / "cases" / "statistics.json").read_text())}


def test_case_seq_of_the_published_table(cases):
    case = cases["speecheq-seq"]
    norm = published_norm()
    assert sorted(case["acc_traj"]) == sorted(
        [0.25, 0.358, 0.403, 0.306, 0.26, 0.583, 0.242, 0.271, 0.365, 0.449, 0.317]
    )
    ours = [norm.seq(value) for value in case["acc_traj"]]
    assert max(abs(one - other) for one, other in zip(ours, case["expect"], strict=True)) <= 0.3


def test_case_sear(cases):
    case = cases["emos-sear"]
    assert [round(sear_reward(1, 1 + step), 4) for step in case["difference"]] == case["expect"]


def test_case_wilson(cases):
    for right, n, lo, hi in cases["wilson-newcombe-1998"]["cases"]:
        found = rate_estimate(right, n)
        assert (round(found.lo, 4), round(found.hi, 4)) == (lo, hi)


def test_case_mcnemar(cases):
    case = cases["mcnemar-agresti"]
    assert round(mcnemar_chi2(case["table"]), 2) == case["expect"]["chi2"]


def test_case_multiple_testing(cases):
    case = cases["benjamini-hochberg-1995"]
    rejected = {
        name: sum(p <= 0.05 for p in adjusted(case["p"], method=method))
        for name, method in (("bh", "fdr_bh"), ("holm", "holm"), ("bonferroni", "bonferroni"))
    }
    assert rejected == case["expect"]


def test_case_quadratic_kappa(cases):
    case = cases["contingency-3x3"]
    given = [
        Given(0, row + 1, column + 1)
        for row, line in enumerate(case["table"])
        for column, count in enumerate(line)
        for _ in range(count)
    ]
    assert round(grades_of(given, (1, 3), resampling=resampled(1)).qwk.value, 4) == case["expect"]["qwk"]


# Slots


def test_detection_by_hand():
    hits, alarms = (9 + 0.5) / 11, (3 + 0.5) / 11
    dprime, criterion = sensitivity(9, 10, 3, 10)
    assert dprime == pytest.approx((stats.norm.ppf(hits) - stats.norm.ppf(alarms)) / math.sqrt(2))
    assert criterion == pytest.approx(-(stats.norm.ppf(hits) + stats.norm.ppf(alarms)) / 2)


def test_who_always_takes_the_first_slot_is_seen_through():
    picks = [Pick(n, "s4", run, 0, (n + run) % 2 == 0) for n in range(20) for run in range(2)]
    found = slots_of(picks, resampling=resampled(20), place={n: n for n in range(20)})
    assert (found.first.value, found.consistent.value, found.one_slot.value, found.mixed) == (1.0, 0.0, 1.0, 20)
    assert (found.right_when_first.value, found.right_when_second.value) == (1.0, 0.0)
    assert found.dprime.value == pytest.approx(0.0)
    assert found.criterion.value < -1.5
    assert found.p_first < 1e-9


def test_who_listens_chooses_the_same_in_both_orders():
    picks = [Pick(n, "s4", run, (n + run) % 2, correct=True) for n in range(12) for run in range(2)]
    found = slots_of(picks, resampling=resampled(12), place={n: n for n in range(12)})
    assert (found.first.value, found.consistent_right.value, found.one_slot.value) == (0.5, 1.0, 0.0)
    assert found.criterion.value == pytest.approx(0.0)
    assert found.dprime.lo == pytest.approx(found.dprime.value)


def test_without_two_options_or_two_orders_there_is_no_figure():
    assert slots_of([]).first.reason == "no question has two options"
    one = slots_of([Pick(1, "s4", 0, 0, correct=True)])
    assert one.consistent.reason == "no question was shown in both orders"
    assert one.dprime.reason == "the right option always stood in the same slot"


# Grades


def kappa_by_definition(given, intended):
    seen = np.mean((given - intended) ** 2)
    chance = np.mean((given[:, None] - intended[None, :]) ** 2)
    return 1 - seen / chance


@pytest.mark.parametrize("seed", range(3))
def test_kappa_and_rank_correlation_are_as_defined(seed):
    draw = np.random.default_rng(seed)
    intended = draw.integers(1, 5, 80)
    given = np.clip(intended + draw.integers(-1, 2, 80), 1, 4)
    rows = [Given(n, int(one), int(other)) for n, (one, other) in enumerate(zip(given, intended, strict=True))]
    found = grades_of(rows, (1, 4), resampling=resampled(80))
    assert found.qwk.value == pytest.approx(kappa_by_definition(given, intended))
    assert found.spearman.value == pytest.approx(stats.spearmanr(given, intended).statistic)
    assert found.qwk.lo < found.qwk.value < found.qwk.hi
    counts = Counter(zip(given.tolist(), intended.tolist(), strict=True))
    assert found.confusion[1][2] == counts[2, 3]
    assert found.recall[3].value == counts[3, 3] / sum(n for (_g, i), n in counts.items() if i == 3)


def test_equal_grades_have_no_kappa():
    found = grades_of([Given(0, 3, 3), Given(1, 3, 3)], (1, 4), resampling=resampled(2))
    assert (found.qwk.reason, found.recall[3].value) == ("all grades given, or all intended, are the same", 1.0)
    assert found.recall[1].reason == "this grade was never intended"
    assert grades_of([], (1, 4), resampling=resampled(1)).qwk.reason == "no grade was given"


# Human baselines

METRIC = Metric(
    "acc", {"en": "a", "zh": "a"}, lambda scores: float(bool(scores["q"].correct)) if "q" in scores else None
)


def people(*answers):
    """One sheet a person; each string holds r (right), w (wrong) or - (not asked) by item."""
    marks = [
        Mark(person, 0, item, "q", "answered", Score(correct=letter == "r"))
        for person, line in enumerate(answers)
        for item, letter in enumerate(line)
        if letter != "-"
    ]
    found = sheets_build(marks)
    return [found[person] for person in range(len(answers))]


def matrix(*answers):
    return np.asarray([[{"r": 1.0, "w": 0.0, "-": np.nan}[letter] for letter in line] for line in answers])


def test_mean_median_best_and_majority_are_different_things():
    answers = ("rrrr", "rrww", "wwwr")
    resampling = resampled(4, 3)
    assert bl.mean_person(matrix(*answers), resampling).value == pytest.approx((1 + 0.5 + 0.25) / 3)
    assert bl.median_person(matrix(*answers), resampling).value == 0.5
    assert bl.best_person(matrix(*answers)) == 0
    assert bl.vote_figures(people(*answers), METRIC, range(4)) == {0: 1.0, 1: 1.0, 2: 0.0, 3: 1.0}


def test_the_best_person_answered_enough_and_is_nearest_to_nothing_where_less_is_better():
    assert bl.best_person(matrix("rrrrrw", "rrrrww", "r-----", "------")) == 0
    assert bl.best_person(matrix("rrrw", "rr--", "w---")) == 1
    bias = np.asarray([[-2.0, -1.0, -2.0], [0.0, 0.0, 0.5], [1.0, 0.0, 0.0]])
    assert bl.best_person(bias, higher_is_better=False) == 1
    assert bl.best_person(matrix("--", "--")) is None


def test_a_tie_is_no_majority_and_two_people_are_none():
    assert bl.vote_figures(people("r", "w", "r", "w"), METRIC, [0]) == {0: 0.0}
    assert bl.vote_figures(people("r", "r"), METRIC, [0]) == {}


@given(st.lists(st.lists(st.sampled_from("rw-"), min_size=5, max_size=5).map("".join), min_size=1, max_size=5))
def test_the_median_lies_between_the_worst_and_the_best(answers):
    figures = matrix(*answers)
    found = bl.median_person(figures, resampled(5, len(answers)))
    means = bl.person_means(figures)
    if not np.isfinite(means).any():
        assert found.reason == "nobody has answered"
        return
    assert np.nanmin(means) <= found.value <= np.nanmax(means)
    if found.lo is not None:
        assert 0 <= found.lo <= found.hi <= 1


def test_ceiling_by_hand():
    found = bl.ceiling(people("rrw", "rrr", "rww"), rng=rng())
    # item 0: all agree, 3 of 3; item 1: r r w: the first two face a tie of the others, the third disagrees; item 2: w r w alike
    assert found.agreement.value == pytest.approx((3 + 0 + 0) / (3 + 1 + 1))
    assert (found.no_majority.value, found.against_key.value) == (0.0, pytest.approx(1 / 3))


def test_two_people_have_no_ceiling():
    assert bl.ceiling(people("rr", "rw"), rng=rng()).agreement.reason == "no question was answered by three people"


# Norms


def test_a_norm_of_people_carries_its_own_error():
    norm = people_norm([0.7, 0.8, 0.9], [0.02, 0.02, 0.02], names=["a", "b", "c"], metric="acc_traj")
    assert (norm.centre, norm.spread) == (pytest.approx(0.8), pytest.approx(0.1))
    assert norm.reliability == pytest.approx(1 - 0.0004 / 0.01)
    assert norm.measurement_error == pytest.approx(15 * math.sqrt(0.04))
    assert norm.seq(0.9) == pytest.approx(115)
    assert norm.error(115) == pytest.approx(15 * math.sqrt(1.5 / 3))
    plain, sampled = Estimate(0.9, 0.85, 0.95, 40), norm.estimate(Estimate(0.9, 0.85, 0.95, 40))
    assert sampled.hi - sampled.lo > 15 * (plain.hi - plain.lo) / norm.spread


@pytest.mark.parametrize(("n", "points"), [(30, 3.4), (100, 1.8), (541, 0.8)])
def test_the_error_of_a_norm_is_as_worked_out_in_the_reference(n, points):
    norm = people_norm([0.5 + k / n for k in range(n)], [0.0] * n, names=[str(k) for k in range(n)], metric="m")
    assert norm.error(115) == pytest.approx(points, abs=0.06)


def test_too_few_people_or_no_spread_are_no_norm():
    assert isinstance(people_norm([0.5, 0.6], [0.1, 0.1], names=["a", "b"], metric="m"), NoNorm)
    assert "no variation" in people_norm([0.5] * 4, [0.1] * 4, names=list("abcd"), metric="m").reason


def test_a_frozen_norm_keeps_its_hash_whoever_comes_later():
    first = cohort_norm({"a": 0.2, "b": 0.3, "c": 0.5}, metric="acc_traj").frozen("base")
    later = cohort_norm({"a": 0.2, "b": 0.3, "c": 0.5, "d": 0.9}, metric="acc_traj")
    assert first.seq(0.5) != later.seq(0.5)
    assert (first.kind, first.name, first.hash != later.hash) == ("frozen", "base", True)


# Power


def test_power_as_worked_out_in_the_reference():
    assert items_needed(0.03, 1 / 9) == 969
    assert items_needed(0.03, 1 / 9, 1 / 6, 1 / 6) == 3876
    rows = [(4530, 1.3, 2.6), (4000, 1.0, 2.4), (531, 1.0, 6.7), (300, 1.0, 8.9), (150, 1.0, 12.5)]
    for items, deff, points in rows:
        assert 100 * detectable(items=items, variance=0.3, deff=deff) == pytest.approx(points, abs=0.06)


def test_what_can_be_detected_is_found_in_four_of_five_tries():
    mde = detectable(items=300, variance=0.3)
    assert power_at(mde, items=300, variance=0.3) == pytest.approx(0.8, abs=1e-4)
    plan = Plan(items=200, people=5)
    assert plan.power(plan.detectable()) == pytest.approx(0.8, abs=1e-4)


def test_more_items_do_not_make_up_for_few_people():
    small, large = Plan(items=200, people=3), Plan(items=1_000_000, people=3)
    assert small.detectable() > large.detectable() > 0.1
    assert Plan(items=200, people=50).detectable() < small.detectable()
    assert design_effect(4, 0.5) == 2.5
