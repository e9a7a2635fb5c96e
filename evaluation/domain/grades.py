"""Grades given against grades intended: quadratic kappa, rank correlation, recall of each grade, the confusion behind them.

All are functions of one table of counts (given x intended), so a replicate is a weighted sum of the items' tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from eqstudio.estimates import Estimate
from evaluation.domain.resampling import Floats, Resampling, interval, ratio
from evaluation.domain.statistics import rate_estimate

NO_GRADE = "no grade was given"
NO_SPREAD = "all grades given, or all intended, are the same"


@dataclass(frozen=True)
class Given:
    """A grade that was given for something with an intended grade; ``column`` is the item's place in the resampling."""

    column: int
    given: int
    intended: int


@dataclass(frozen=True)
class Grades:
    """``confusion[i][j]``: how often the i-th grade of the scale was given where the j-th was intended."""

    scale: tuple[int, ...]
    confusion: tuple[tuple[int, ...], ...]
    qwk: Estimate
    spearman: Estimate
    recall: dict[int, Estimate]

    def estimates(self) -> dict[str, Estimate]:
        return {
            "qwk": self.qwk,
            "spearman": self.spearman,
            **{f"recall_{grade}": figure for grade, figure in self.recall.items()},
        }


def grades_of(given: Iterable[Given], scale: tuple[int, int], *, resampling: Resampling) -> Grades:
    """Every figure on whole grades of ``scale``; intervals by resampling items."""
    rows = list(given)
    steps = tuple(range(scale[0], scale[1] + 1))
    size = len(steps)
    tables = np.zeros((resampling.items.shape[1], size * size))
    for row in rows:
        tables[row.column, (row.given - scale[0]) * size + (row.intended - scale[0])] += 1
    whole = tables.sum(axis=0).reshape(1, size, size)
    drawn = (resampling.items @ tables).reshape(-1, size, size)
    return Grades(
        scale=steps,
        confusion=tuple(tuple(int(cell) for cell in line) for line in whole[0]),
        qwk=_estimate(quadratic_kappa(whole), quadratic_kappa(drawn), len(rows)),
        spearman=_estimate(rank_correlation(whole), rank_correlation(drawn), len(rows)),
        recall={grade: _recall(whole[0], place) for place, grade in enumerate(steps)},
    )


def _estimate(value: Floats, replicates: Floats, n: int) -> Estimate:
    if n == 0:
        return Estimate.undefined(NO_GRADE)
    if not np.isfinite(value[0]):
        return Estimate.undefined(NO_SPREAD, n=n)
    return Estimate(float(value[0]), *interval(replicates), n)


def _recall(table: Floats, place: int) -> Estimate:
    asked = int(table[:, place].sum())
    return (
        rate_estimate(int(table[place, place]), asked) if asked else Estimate.undefined("this grade was never intended")
    )


def quadratic_kappa(tables: Floats) -> Floats:
    """Cohen's kappa with quadratic weights of each table (replicates x given x intended); NaN where chance leaves no room."""
    size = tables.shape[1]
    steps = np.arange(size)
    distance = (steps[:, None] - steps[None, :]) ** 2
    total = tables.sum(axis=(1, 2))
    observed = (tables * distance).sum(axis=(1, 2))
    expected = ratio(np.einsum("ri,ij,rj->r", tables.sum(axis=2), distance, tables.sum(axis=1)), total)
    return 1 - ratio(observed, expected)


def rank_correlation(tables: Floats) -> Floats:
    """Spearman's rho with mid-ranks for ties, of each table (replicates x given x intended)."""
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    total = rows.sum(axis=1, keepdims=True)
    first = np.cumsum(rows, axis=1) - rows / 2 - total / 2
    second = np.cumsum(columns, axis=1) - columns / 2 - total / 2
    together = np.einsum("ri,rij,rj->r", first, tables, second)
    spread = np.sqrt((rows * first**2).sum(axis=1) * (columns * second**2).sum(axis=1))
    return ratio(together, spread)
