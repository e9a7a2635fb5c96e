"""One set of resampling weights for a whole comparison: every figure sees the same replicates of items (and of people).

Whole clusters (the dialogues of one prompt or script) are drawn together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
REPLICATES = 2_000
LEVEL = (2.5, 97.5)


@dataclass(frozen=True)
class Resampling:
    """``items``: how often each item counts in each replicate (replicates x items); ``people`` the same for persons."""

    items: Floats
    people: Floats

    @classmethod
    def draw(
        cls, clusters: Sequence[str], people: int, *, rng: np.random.Generator, replicates: int = REPLICATES
    ) -> Resampling:
        """Draw clusters of items, and persons, with replacement, each as many as there are."""
        _names, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
        groups = int(index.max()) + 1 if len(index) else 0
        return cls(_counts(groups, replicates, rng)[:, index], _counts(people, replicates, rng))

    def only(self, columns: npt.NDArray[np.intp]) -> Resampling:
        """The same replicates, looked at for some of the items."""
        return Resampling(self.items[:, columns], self.people)

    def persons(self, rows: Sequence[int]) -> Resampling:
        """The same replicates of items, for some of the people."""
        return Resampling(self.items, self.people[:, list(rows)])

    def alone(self) -> Resampling:
        """The same replicates of items, for one respondent who is no sample of people."""
        return Resampling(self.items, np.ones((len(self.items), 1)))


def _counts(units: int, replicates: int, rng: np.random.Generator) -> Floats:
    """How often each of ``units`` comes up in as many draws: a multinomial, counted from indices because that is faster."""
    if units == 0:
        return np.zeros((replicates, 0))
    drawn = rng.integers(0, units, size=(replicates, units))
    drawn += np.arange(replicates)[:, None] * units
    return np.bincount(drawn.ravel(), minlength=replicates * units).reshape(replicates, units).astype(np.float64)


def interval(replicates: Floats) -> tuple[float | None, float | None]:
    """The 95 % percentile interval; none where fewer than half of the replicates are defined."""
    defined = replicates[np.isfinite(replicates)]
    if len(defined) * 2 <= len(replicates) or len(defined) == 0:
        return None, None
    lo, hi = np.percentile(defined, LEVEL)
    return float(lo), float(hi)


def ratio(tops: Floats, bottoms: Floats) -> Floats:
    """Element by element, NaN where there is nothing to divide by."""
    return np.asarray(np.divide(tops, bottoms, out=np.full(np.shape(tops), np.nan), where=bottoms > 0))
