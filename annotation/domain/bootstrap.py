"""Resampling weights: which unit counts how often in which replicate.

Resampling N units with replacement is one Multinomial draw over the distinct kinds of unit, weighted by how often each
occurs. That is exact, not an approximation, and with five raters and four grades there are at most 126 kinds, so a
thousand replicates of 100,000 items cost milliseconds. With clusters, whole clusters are drawn instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from eqstudio.estimates import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""From weights (replicates x kinds) to one value per replicate; nan where it is undefined."""

REPLICATES = 1000
BLOCK_CELLS = 4_000_000
LEVEL = 0.95


def kinds(rows: Ints) -> tuple[Ints, Floats]:
    """Index of a first example of every distinct row, and how often each occurs."""
    base = int(rows.max(initial=0)) - int(rows.min(initial=0)) + 1
    if base ** rows.shape[1] < 2**62:
        keys = ((rows - rows.min(initial=0)) * base ** np.arange(rows.shape[1], dtype=np.int64)).sum(axis=1)
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    else:
        _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    return first.astype(np.int64), counts.astype(np.float64)


def weights_by_kind(counts: Floats, *, replicates: int, seed: int) -> Iterator[Floats]:
    """Blocks of Multinomial weights over kinds that occur ``counts`` times."""
    rng = np.random.default_rng(seed)
    total = int(counts.sum())
    for size in _blocks(replicates, len(counts)):
        yield rng.multinomial(total, counts / total, size=size).astype(np.float64)


def weights_by_cluster(clusters: Ints, *, replicates: int, seed: int) -> Iterator[Floats]:
    """Blocks of weights over units whose clusters (0..G-1) were drawn as wholes."""
    rng = np.random.default_rng(seed)
    total = int(clusters.max()) + 1
    for size in _blocks(replicates, len(clusters)):
        drawn = rng.multinomial(total, np.full(total, 1 / total), size=size)
        yield drawn[:, clusters].astype(np.float64)


def _blocks(replicates: int, width: int) -> Iterator[int]:
    size = max(1, min(replicates, BLOCK_CELLS // max(1, width)))
    for start in range(0, replicates, size):
        yield min(size, replicates - start)


def estimate(value: float, replicates: Floats, *, n: int) -> Estimate:
    """A value with the percentile interval of its replicates; without one when fewer than half of them are defined."""
    defined = replicates[np.isfinite(replicates)]
    if len(defined) * 2 < len(replicates) or len(defined) == 0:
        return Estimate(value=float(value), n=n)
    lo, hi = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value=float(value), lo=float(lo), hi=float(hi), n=n)
