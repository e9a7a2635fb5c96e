"""Resampling weights: which kind of item counts how often in which replicate.

Items that got the same values are of one kind, and a coefficient depends on the items only through how many there are of
each kind. Resampling N items with replacement is therefore one Multinomial draw over the kinds. That is exact, not an
approximation, and with five raters and four grades there are at most 126 kinds, so a thousand replicates of 100,000 items
cost milliseconds. With clusters (dialogues), whole clusters are drawn and their items added up by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from eqstudio.estimates import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""From weights (replicates x kinds) to one value per replicate; nan where it is undefined."""

REPLICATES = 1000
FEWEST = 200
LEVEL = 0.95
_BLOCK_CELLS = 4_000_000
_DRAWS = 8_000_000
"""So many clusters are drawn at most for one interval; with more than 8,000 clusters there are fewer replicates."""
_SMALL_TABLE = 1_000_000
_DIRECT = 16
"""Drawing from kinds of cluster pays when there are this many times fewer of them than clusters."""


class Kinds(NamedTuple):
    """``first`` an example row of every kind, ``occurs`` how often each occurs, ``of`` the kind of every row."""

    first: Ints
    occurs: Floats
    of: Ints


def kinds(rows: NDArray[np.integer]) -> Kinds:
    """Group equal rows (items x columns of small integers, -1 at least)."""
    base = int(rows.max(initial=0)) + 2
    keys = np.zeros(len(rows), dtype=np.int64)
    narrow = base ** rows.shape[1] < 2**62
    mix = np.random.default_rng(1).integers(
        1, 2**62, size=(rows.shape[1],)
    )  # only for rows too wide for one exact number
    for column in range(rows.shape[1]):
        cells = rows[:, column].astype(np.int64) + 1
        keys = keys * base + cells if narrow else keys + cells * mix[column]
    if narrow and base ** rows.shape[1] <= _SMALL_TABLE:
        counted = np.bincount(keys, minlength=1)
        present = np.nonzero(counted)[0]
        place = np.zeros(len(counted), dtype=np.int64)
        place[present] = np.arange(len(present))
        of = place[keys]
        first = np.zeros(len(present), dtype=np.int64)
        first[of[::-1]] = np.arange(len(rows) - 1, -1, -1)
        return Kinds(first, counted[present].astype(np.float64), of)
    _values, first, of, occurs = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return Kinds(first.astype(np.int64), occurs.astype(np.float64), of.reshape(-1).astype(np.int64))


def weights(found: Kinds, clusters: Ints | None, *, replicates: int, seed: int) -> Iterator[Floats]:
    """Blocks (replicates x kinds) of how often items of each kind were drawn. ``clusters`` numbers every item 0..G-1."""
    if clusters is None:
        yield from _by_kind(found.occurs, replicates=replicates, seed=seed)
    else:
        yield from _by_cluster(found, clusters, replicates=replicates, seed=seed)


def _by_kind(occurs: Floats, *, replicates: int, seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    total = int(occurs.sum())
    for size in _blocks(replicates, len(occurs)):
        yield rng.multinomial(total, occurs / total, size=size).astype(np.float64)


def _by_cluster(found: Kinds, clusters: Ints, *, replicates: int, seed: int) -> Iterator[Floats]:
    rng = np.random.default_rng(seed)
    total = int(clusters.max()) + 1
    held = sparse.csr_matrix(
        (np.ones(len(clusters)), (clusters, found.of)), shape=(total, len(found.occurs)), dtype=np.float64
    )
    mix = np.random.default_rng(1).integers(1, 2**52, size=(held.shape[1],))
    names = sparse.csr_matrix(held, dtype=np.int64) @ mix
    _names, first, occurs = np.unique(names, return_index=True, return_counts=True)
    few = len(first) * _DIRECT < total
    if few:
        held = held[first]
    across = held.T.tocsr()
    wanted = max(min(replicates, FEWEST), min(replicates, _DRAWS // total))
    for size in _blocks(wanted, held.shape[0]):
        if few:
            drawn = rng.multinomial(total, occurs / total, size=size)
        else:
            picks = rng.integers(0, total, size=(size, total)) + np.arange(size)[:, None] * total
            drawn = np.bincount(picks.reshape(-1), minlength=size * total).reshape(size, total)
        yield np.ascontiguousarray((across @ drawn.T.astype(np.float64)).T)


def _blocks(replicates: int, width: int) -> Iterator[int]:
    size = max(1, min(replicates, _BLOCK_CELLS // max(1, width)))
    for start in range(0, replicates, size):
        yield min(size, replicates - start)


def estimate(value: float, replicates: Floats, *, n: int) -> Estimate:
    """A value with the percentile interval of its replicates; without one when fewer than half of them are defined."""
    defined = replicates[np.isfinite(replicates)]
    if len(defined) * 2 < len(replicates) or len(defined) == 0:
        return Estimate(value=float(value), n=n)
    lo, hi = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value=float(value), lo=float(lo), hi=float(hi), n=n)
