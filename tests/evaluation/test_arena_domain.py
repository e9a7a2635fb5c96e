"""Bradley-Terry with ties, and who is shown with whom."""

from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqstudio.templatetags.studio import figure
from evaluation.domain.arena import NOT_RATED, Rated, outcome_of, question_choose, systems_choose
from evaluation.domain.bradley_terry import APART, apart, davidson

BASEBALL = [
    [0, 7, 9, 7, 7, 9, 11],
    [6, 0, 7, 5, 11, 9, 9],
    [4, 6, 0, 7, 7, 8, 12],
    [6, 8, 6, 0, 6, 7, 10],
    [6, 2, 6, 7, 0, 7, 12],
    [4, 4, 5, 6, 6, 0, 6],
    [2, 4, 1, 3, 1, 7, 0],
]
"""American League East, 1987: Milwaukee, Detroit, Toronto, New York, Boston, Cleveland, Baltimore (Agresti)."""


def fit(wins, ties=None):
    wins = np.asarray(wins, dtype=float)
    ties = np.zeros_like(wins) if ties is None else np.asarray(ties, dtype=float)
    return davidson(wins[None], ties[None])


def test_the_published_strengths_of_1987_come_out():
    found = fit(BASEBALL).log[0]
    assert np.round(found - found[-1], 2).tolist() == [1.58, 1.44, 1.29, 1.25, 1.11, 0.68, 0.0]


def likelihood(log, nu, wins, ties):
    total = 0.0
    for i, j in combinations(range(len(log)), 2):
        root = nu * np.exp((log[i] + log[j]) / 2)
        whole = np.exp(log[i]) + np.exp(log[j]) + root
        total += wins[i, j] * (log[i] - np.log(whole)) + wins[j, i] * (log[j] - np.log(whole))
        total += ties[i, j] * (np.log(root) - np.log(whole)) if ties[i, j] else 0.0
    return total


@given(st.lists(st.integers(1, 9), min_size=6, max_size=6), st.lists(st.integers(0, 9), min_size=3, max_size=3))
def test_no_other_strengths_are_likelier(won, tied):
    wins, ties = np.zeros((3, 3)), np.zeros((3, 3))
    wins[np.nonzero(~np.eye(3, dtype=bool))] = won
    ties[np.triu_indices(3, 1)] = tied
    ties += ties.T
    found = fit(wins, ties)
    best = likelihood(found.log[0], found.nu[0], wins, ties)
    for step in (-0.01, 0.01):
        for system in range(3):
            moved = found.log[0].copy()
            moved[system] += step
            assert likelihood(moved, found.nu[0], wins, ties) <= best + 1e-9
        if found.nu[0]:
            assert likelihood(found.log[0], found.nu[0] * (1 + step), wins, ties) <= best + 1e-9


def test_two_systems_by_hand():
    found = fit([[0, 6], [3, 0]])
    assert found.log[0, 0] - found.log[0, 1] == pytest.approx(np.log(2))
    tied = fit([[0, 4], [4, 0]], [[0, 8], [8, 0]])
    assert tied.nu[0] == pytest.approx(2)
    assert tied.log[0].tolist() == pytest.approx([0, 0])


def test_who_won_everything_has_no_finite_strength():
    assert np.isnan(fit([[0, 6], [0, 0]]).log).all()


def ratings_of(table):
    """From {(rater, item): [value of system 0, 1, ...]} to ratings; one panel each."""
    return [
        Rated(panel, item, rater, system, value)
        for panel, ((rater, item), values) in enumerate(table.items())
        for system, value in enumerate(values)
    ]


def test_ranks_by_mean_and_by_strength():
    table = {
        (rater, item): [8 - (rater + item) % 2, 6 + (rater * item) % 3, 3 + item % 5]
        for rater in range(6)
        for item in range(8)
    }
    found = outcome_of(ratings_of(table), [0, 1, 2], rng=np.random.default_rng(1))
    by_system = {one.system: one for one in found.standings}
    means = {system: np.mean([values[system] for values in table.values()]) for system in range(3)}
    assert {system: one.mean.value for system, one in by_system.items()} == pytest.approx(means)
    assert [by_system[system].rank_by_mean.value for system in range(3)] == [1, 2, 3]
    assert [by_system[system].rank_by_strength.value for system in range(3)] == [1, 2, 3]
    assert found.comparisons == 3 * 48
    for one in found.standings:
        assert one.mean.lo < one.mean.value < one.mean.hi
        assert one.ratings == 48
    first, second, third = (by_system[system].strength for system in range(3))
    assert first.lo < first.value < first.hi
    assert second.lo < second.value < second.hi
    assert (third.lo, third.value < third.hi) == (None, True)  # it won 2 of 96, and nothing in 13 % of the replicates


def test_a_system_beaten_once_has_no_upper_limit_of_its_strength():
    """Without the one panel that it lost it is unbeaten, as it is in many replicates: their strength is not finite."""
    table = {(rater, item): [9, *((5, 4) if (rater + item) % 2 else (4, 5))] for rater in range(5) for item in range(6)}
    table[0, 1][0] = 3
    found = outcome_of(ratings_of(table), [0, 1, 2], rng=np.random.default_rng(0)).standings
    assert found[0].strength.lo is not None
    assert (found[0].strength.hi, found[0].rank_by_strength.lo, found[0].rank_by_strength.hi) == (None, 1, 1)
    assert figure(found[0].strength).endswith("no limit), n\N{NO-BREAK SPACE}30")
    assert found[1].strength.lo < found[1].strength.value < found[1].strength.hi


def test_who_only_won_or_only_lost_is_known():
    beat = np.asarray([[0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0]], dtype=float)
    unbeaten, winless = apart(beat)
    assert (unbeaten.tolist(), winless.tolist()) == ([True, False, False, False], [False, False, False, True])


def test_intervals_know_that_a_rater_rates_many():
    """The same ratings by one rater each, and by few raters who differ: only the second says little about other raters."""
    harsh = {(rater, item): [5 + 4 * (rater % 2), 5] for rater in range(4) for item in range(30)}
    spread = {(4 * item + rater, item): values for (rater, item), values in harsh.items()}
    few = outcome_of(ratings_of(harsh), [0, 1], rng=np.random.default_rng(2)).standings[0].mean
    many = outcome_of(ratings_of(spread), [0, 1], rng=np.random.default_rng(2)).standings[0].mean
    assert few.value == many.value
    assert few.hi - few.lo > 2 * (many.hi - many.lo)


def test_what_was_not_rated_says_so():
    found = outcome_of([], [4, 5], rng=np.random.default_rng(0))
    assert {one.mean.reason for one in found.standings} == {NOT_RATED}
    alone = outcome_of(ratings_of({(0, 0): [9, 2]}), [0, 1], rng=np.random.default_rng(0))
    assert alone.standings[0].mean.lo is None
    assert alone.standings[0].strength.reason == APART


@given(st.integers(2, 6), st.data())
def test_systems_and_pairs_are_shown_equally_often(systems, data):
    size = data.draw(st.integers(2, systems))
    rng = Random(data.draw(st.integers(0, 99)))
    met, shown = {}, dict.fromkeys(range(systems), 0)
    groups = len(list(combinations(range(systems), size)))
    for _panel in range(2 * groups):
        chosen = systems_choose(range(systems), size, met=met, here={}, rng=rng)
        assert len(set(chosen)) == size
        for pair in combinations(sorted(chosen), 2):
            met[pair] = met.get(pair, 0) + 1
        for one in chosen:
            shown[one] += 1
    counts = [met.get(pair, 0) for pair in combinations(range(systems), 2)]
    assert max(counts) - min(counts) <= 2
    assert max(shown.values()) - min(shown.values()) <= 2


def test_the_question_that_fewest_hold_comes_first():
    assert question_choose({1: 2, 2: 1, 3: 1}, rng=Random(0)) in {2, 3}
    assert {question_choose({2: 1, 3: 1}, rng=Random(seed)) for seed in range(20)} == {2, 3}
    assert question_choose({}, rng=Random(0)) is None
