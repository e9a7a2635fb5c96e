"""How a person judges beside the others, over time, and beside themselves.

Severity is the mean difference of a person's grades to the mean of the others' on the same renditions (leave one out):
below zero is stricter, above zero milder. Intervals draw whole items, since the grades within one go together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from annotation.domain.bootstrap import REPLICATES, Floats, Ints, estimate
from annotation.domain.quality import share
from eqstudio.estimates import Estimate

NOBODY_ELSE = "nobody else graded the same"
ONE_JUDGEMENT = "fewer than three judgements to draw a line through"
NOT_REPEATED = "nothing was repeated"
NO_VARIATION = "no variation"
PER = 100
"""The trend is told per this many judgements."""
_LINE_LEAST = 3


class GradeRow(NamedTuple):
    """One grade, by ids; rows come in the order in which they were given."""

    rater: int
    item: int
    variant: int
    value: int


@dataclass(frozen=True)
class Differences:
    """Per person and item, in the person's order: sum and number of the differences to the others."""

    items: Ints
    sums: Floats
    counts: Floats


def differences(rows: Iterable[GradeRow]) -> dict[int, Differences]:
    """Leave-one-out differences by person; renditions that nobody else graded are left out."""
    table = np.array(list(rows), dtype=np.int64).reshape(-1, len(GradeRow._fields))
    if not len(table):
        return {}
    _, variant = np.unique(table[:, 2], return_inverse=True)
    value = table[:, 3].astype(np.float64)
    n = np.bincount(variant)[variant]
    total = np.bincount(variant, weights=value)[variant]
    shared = n > 1
    diff = (value - (total - value) / np.maximum(n - 1, 1))[shared]
    table = table[shared]
    return {
        int(rater): _per_item(table[table[:, 0] == rater, 1], diff[table[:, 0] == rater])
        for rater in np.unique(table[:, 0])
    }


def _per_item(items: Ints, diff: Floats) -> Differences:
    ids, first, place = np.unique(items, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return Differences(
        items=ids[order],
        sums=np.bincount(place, weights=diff).astype(np.float64)[order],
        counts=np.bincount(place).astype(np.float64)[order],
    )


def severity(found: Differences | None, *, seed: int, replicates: int = REPLICATES) -> Estimate:
    """The mean difference with the percentile interval of a bootstrap over items; ``n`` counts grades."""
    if found is None or not len(found.items):
        return Estimate.undefined(NOBODY_ELSE)
    n = int(found.counts.sum())
    value = float(found.sums.sum() / found.counts.sum())
    if len(found.items) == 1:
        return Estimate(value=value, n=n)
    # Items with the same sum and count are of one kind: drawing kinds is drawing items, only faster.
    pairs, often = np.unique(np.stack([found.sums.round(9), found.counts], axis=1), axis=0, return_counts=True)
    drawn = _drawn(often, replicates=replicates, seed=seed)
    return estimate(value, (drawn @ pairs[:, 0]) / (drawn @ pairs[:, 1]), n=n)


def _drawn(often: Ints, *, replicates: int, seed: int) -> Floats:
    """Replicates x kinds: how often each kind is drawn when as many items as there are are drawn with replacement."""
    total = int(often.sum())
    return np.random.default_rng(seed).multinomial(total, often / total, size=replicates).astype(np.float64)


class Block(NamedTuple):
    """Judgements ``first``..``last`` (from 1) of a person that others judged, too."""

    first: int
    last: int
    severity: Estimate


@dataclass(frozen=True)
class Drift:
    """Severity by block of judgements, and the change in grades per hundred judgements."""

    blocks: list[Block]
    trend: Estimate


def drift(
    found: Differences | None, *, seed: int, blocks: int = 8, least: int = 10, replicates: int = REPLICATES
) -> Drift:
    """At most ``blocks`` blocks of equal length with at least ``least`` judgements each, and the slope over all."""
    total = 0 if found is None else len(found.items)
    if found is None or not total:
        return Drift([], Estimate.undefined(NOBODY_ELSE))
    parts = np.array_split(np.arange(total), max(1, min(blocks, total // least)))
    told = [
        Block(
            first=int(part[0]) + 1,
            last=int(part[-1]) + 1,
            severity=severity(
                Differences(found.items[part], found.sums[part], found.counts[part]), seed=seed, replicates=replicates
            ),
        )
        for part in parts
    ]
    return Drift(told, _trend(found.sums / found.counts, seed=seed, replicates=replicates))


def _trend(y: Floats, *, seed: int, replicates: int) -> Estimate:
    """Least-squares slope per ``PER`` judgements; the interval draws judgements."""
    if len(y) < _LINE_LEAST:
        return Estimate.undefined(ONE_JUDGEMENT, n=len(y))
    x = np.arange(len(y)) / PER
    ones = np.ones(len(y))
    value = float(_slope(ones[None, :], x, y)[0])
    drawn = _drawn(np.ones(len(y), dtype=np.int64), replicates=replicates, seed=seed)
    return estimate(value, _slope(drawn, x, y), n=len(y))


def _slope(weights: Floats, x: Floats, y: Floats) -> Floats:
    n, sx, sy = weights.sum(axis=1), weights @ x, weights @ y
    bottom = n * (weights @ (x * x)) - sx * sx
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(bottom > 1e-12, (n * (weights @ (x * y)) - sx * sy) / bottom, np.nan))  # noqa: PLR2004


# The same item twice


class Repeated(NamedTuple):
    """What a person said of an item the first time and again, grades by variant uid."""

    verdict: tuple[str, str]
    grades: tuple[Mapping[str, int], Mapping[str, int]]


@dataclass(frozen=True)
class Consistency:
    """``verdicts`` and ``grades``: share that is the same; ``difference``: mean absolute difference of grades;
    ``kappa``: quadratically weighted.
    """

    verdicts: Estimate
    grades: Estimate
    difference: Estimate
    kappa: Estimate


def consistency(repeats: Sequence[Repeated]) -> Consistency:
    """A person against themselves. Grades are compared where both times have one."""
    verdicts = share([first == again for (first, again), _ in repeats], reason=NOT_REPEATED)
    pairs = [(first[uid], again[uid]) for _, (first, again) in repeats for uid in sorted(first.keys() & again.keys())]
    if not pairs:
        none = Estimate.undefined(NOT_REPEATED)
        return Consistency(verdicts, none, none, none)
    first, again = (np.array(side, dtype=np.float64) for side in zip(*pairs, strict=True))
    return Consistency(
        verdicts=verdicts,
        grades=share([bool(same) for same in first == again]),
        difference=Estimate(value=float(np.abs(first - again).mean()), n=len(pairs)),
        kappa=quadratic_kappa(first, again),
    )


def quadratic_kappa(first: Floats, again: Floats) -> Estimate:
    """Cohen 1968: one less the squared differences seen over those expected of the two distributions. The width of the
    scale cancels. Undefined without variation.
    """
    expected = float(((first[:, None] - again[None, :]) ** 2).mean())
    if expected <= 0:
        return Estimate.undefined(NO_VARIATION, n=len(first))
    return Estimate(value=float(1 - ((first - again) ** 2).mean() / expected), n=len(first))
