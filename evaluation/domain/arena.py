"""Rationales rated side by side: who is shown with whom, and what the ratings say about the systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Any, NamedTuple

import numpy as np

from eqstudio.estimates import Estimate
from evaluation.domain.bradley_terry import APART, Floats, Strengths, apart, davidson
from evaluation.domain.resampling import LEVEL, Resampling, interval, ratio

MOST_SYSTEMS = 12
"""With more, there would be too many groups to choose the most needed from."""
NOT_RATED = "nothing was rated"
ONE_CLUSTER = 2
REPLICATES = 1_000
PRIOR = 0.5


def systems_choose(
    systems: Sequence[int],
    size: int,
    *,
    met: Mapping[tuple[int, int], int],
    here: Mapping[int, int],
    rng: Random,
) -> list[int]:
    """The ``size`` systems whose pairs have met least so far, then those shown least on this question, then by chance; in
    random order. ``met`` counts pairs (smaller id first), ``here`` how often each was shown on this question.
    """
    groups: list[tuple[int, ...]] = list(combinations(sorted(systems), size))
    rng.shuffle(groups)

    def need(group: tuple[int, ...]) -> tuple[int, int]:
        return sum(met.get(pair, 0) for pair in combinations(group, 2)), sum(here.get(one, 0) for one in group)

    chosen = list(min(groups, key=lambda group: need(tuple(group))))
    rng.shuffle(chosen)
    return chosen


def question_choose(held: Mapping[int, int], *, rng: Random) -> int | None:
    """Of the questions with a free place the one that fewest people hold; by chance among equals."""
    if not held:
        return None
    fewest = min(held.values())
    return rng.choice(sorted(question for question, n in held.items() if n == fewest))


@dataclass(frozen=True, slots=True)
class Rated:
    """One rating: ``panel`` says which ratings stood side by side, ``item`` and ``rater`` are what is resampled."""

    panel: int
    item: int
    rater: int
    system: int
    value: int


@dataclass(frozen=True)
class Standing:
    """How a system came out: its mean rating, its log strength (mean of all 0), and its rank by each."""

    system: int
    ratings: int
    mean: Estimate
    strength: Estimate
    rank_by_mean: Estimate
    rank_by_strength: Estimate


@dataclass(frozen=True)
class Outcome:
    """All standings; ``nu`` is the weight of ties, ``share_tied`` how many of the ``comparisons`` were ties."""

    standings: tuple[Standing, ...]
    comparisons: int
    ties: int
    nu: Estimate


def outcome_of(
    ratings: Sequence[Rated], systems: Sequence[int], *, rng: np.random.Generator, replicates: int = REPLICATES
) -> Outcome:
    """Ranks by mean and by Bradley-Terry with ties. Intervals: raters and items are drawn with replacement together, each
    rating counts as often as its rater times its item came up; an end of a strength is open (None beside the
    other end) where somebody never lost, or never won, in that many replicates.
    """
    if not ratings:
        nothing = Estimate.undefined(NOT_RATED)
        none = tuple(Standing(system, 0, nothing, nothing, nothing, nothing) for system in systems)
        return Outcome(none, 0, 0, nothing)
    place = {system: index for index, system in enumerate(systems)}
    weights = _weights(ratings, replicates, rng)
    cells = np.zeros((len(ratings), len(systems)))
    cells[np.arange(len(ratings)), [place[one.system] for one in ratings]] = 1.0
    values = np.asarray([one.value for one in ratings], dtype=float)
    means = ratio(weights @ (cells * values[:, None]), weights @ cells)
    wins, ties, pairs = _comparisons(ratings, place, weights)
    strengths, log = _fit(wins, ties)
    counts = cells.sum(axis=0).astype(int)
    crossed = min(len({one.rater for one in ratings}), len({one.item for one in ratings})) >= ONE_CLUSTER
    figures = (means, log, _ranks(means), _ranks(strengths.log))
    standings = tuple(
        Standing(
            system, int(counts[index]), *(_estimate(found, index, int(counts[index]), crossed) for found in figures)
        )
        for system, index in place.items()
    )
    tied = round(float(ties[0].sum()) / 2)
    nu = _estimate(strengths.nu[:, None], 0, pairs, crossed)
    return Outcome(standings, pairs, tied, nu)


def _weights(ratings: Sequence[Rated], replicates: int, rng: np.random.Generator) -> Floats:
    """Row 0 counts every rating once; the others are replicates."""
    items, item_of = np.unique([one.item for one in ratings], return_inverse=True)
    raters, rater_of = np.unique([one.rater for one in ratings], return_inverse=True)
    drawn = Resampling.draw([str(item) for item in items], len(raters), rng=rng, replicates=replicates)
    weights = drawn.items[:, item_of] * drawn.people[:, rater_of]
    return np.vstack([np.ones(len(ratings)), weights])


def _comparisons(ratings: Sequence[Rated], place: Mapping[int, int], weights: Floats) -> tuple[Floats, Floats, int]:
    """Wins and ties (replicates x systems x systems) of all that stood side by side, and how many comparisons there are."""
    panels: dict[int, list[int]] = {}
    for row, one in enumerate(ratings):
        panels.setdefault(one.panel, []).append(row)
    met = [(a, b) for rows in panels.values() for a, b in combinations(rows, 2)]
    size = len(place)
    won, tied = np.zeros((len(met), size * size)), np.zeros((len(met), size * size))
    for number, (a, b) in enumerate(met):
        first, second = place[ratings[a].system], place[ratings[b].system]
        difference = ratings[a].value - ratings[b].value
        if difference == 0:
            tied[number, [first * size + second, second * size + first]] = 1.0
        elif difference > 0:
            won[number, first * size + second] = 1.0
        else:
            won[number, second * size + first] = 1.0
    counted = weights[:, [a for a, _b in met]]
    shape = (len(weights), size, size)
    return (counted @ won).reshape(shape), (counted @ tied).reshape(shape), len(met)


class _Fit(NamedTuple):
    """``held`` gives ranks; in ``log`` (replicates x systems) who never lost in a replicate is +inf, and who never won -inf."""

    held: Strengths
    log: Floats


def _fit(wins: Floats, ties: Floats) -> _Fit:
    """The fit of row 0 as it is, and of the replicates. Leaving out those without a finite fit would cut off the very tail in
    which a system is unbeaten; there every two that ever met are given ``PRIOR`` wins over each other.
    """
    held = davidson(wins, ties)
    log = held.log.copy()
    lost = np.flatnonzero(~np.isfinite(held.nu))
    if len(lost) == 0 or lost[0] == 0:
        return _Fit(held, log)
    met = wins[0] + wins[0].T + ties[0] > 0
    again = davidson(wins[lost] + PRIOR * met, ties[lost])
    held.log[lost], held.nu[lost] = again.log, again.nu
    log[lost] = again.log
    for row in lost:
        unbeaten, winless = apart(wins[row] + ties[row] / 2)
        log[row, unbeaten], log[row, winless] = np.inf, -np.inf
    return _Fit(held, log)


def _ranks(figures: Floats) -> Floats:
    """1 for the highest; equal ones share their mean rank; NaN where a figure is not known."""
    above = (figures[:, None, :] > figures[:, :, None]).sum(axis=2)
    equal = (figures[:, None, :] == figures[:, :, None]).sum(axis=2)
    ranks = 1 + above + (equal - 1) / 2
    return np.where(np.isfinite(figures), ranks, np.nan)


def _estimate(found: Floats, index: int, n: int, crossed: bool) -> Estimate:  # noqa: FBT001 -- asked above
    value = float(found[0, index])
    if not np.isfinite(value):
        return Estimate.undefined(NOT_RATED if n == 0 else APART, n=n)
    lo, hi = _ends(found[1:, index]) if crossed else (None, None)
    return Estimate(value, lo, hi, n)


def _ends(replicates: Floats) -> tuple[float | None, float | None]:
    """The interval; an end that is not finite has no limit."""
    if not np.isinf(replicates).any():
        return interval(replicates)
    known = replicates[~np.isnan(replicates)]
    lo, hi = np.percentile(known, LEVEL[0], method="lower"), np.percentile(known, LEVEL[1], method="higher")
    return (float(lo) if np.isfinite(lo) else None), (float(hi) if np.isfinite(hi) else None)


def as_dicts(outcome: Outcome) -> list[dict[str, Any]]:
    """The standings as plain data, best by strength first, then by mean."""
    return [
        {
            "system": one.system,
            "ratings": one.ratings,
            "mean": one.mean.as_dict(),
            "strength": one.strength.as_dict(),
            "rank_by_mean": one.rank_by_mean.as_dict(),
            "rank_by_strength": one.rank_by_strength.as_dict(),
        }
        for one in sorted(outcome.standings, key=_best_first)
    ]


def _best_first(one: Standing) -> tuple[float, float, int]:
    strength, mean = one.strength.value, one.mean.value
    return (
        float("inf") if strength is None else -strength,
        float("inf") if mean is None else -mean,
        one.system,
    )
