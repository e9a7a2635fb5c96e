"""What a SEQ is relative to: a declared cohort. Also the reward that grades a grade."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median

from eqstudio.estimates import Estimate

MAD_TO_SD = 1.4826
MEAN_DEVIATION_TO_SD = 1.2533
CLIP = 4.0
MIN_COHORT = 3


@dataclass(frozen=True)
class Norm:
    """A cohort of systems: its centre and spread on one metric. Two SEQ are comparable only under the same ``hash``."""

    metric: str
    population: tuple[str, ...]
    centre: float
    spread: float
    recipe: str
    item_set: str = ""

    @property
    def hash(self) -> str:
        content = [self.metric, sorted(self.population), round(self.centre, 9), round(self.spread, 9), self.item_set]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def seq(self, value: float) -> float:
        return 100 + 15 * max(-CLIP, min(CLIP, (value - self.centre) / self.spread))

    def estimate(self, figure: Estimate) -> Estimate:
        """The SEQ of a figure: its interval is the figure's, seen through the norm, which is taken as known."""
        if figure.value is None:
            return figure
        lo = None if figure.lo is None else self.seq(figure.lo)
        hi = None if figure.hi is None else self.seq(figure.hi)
        return Estimate(self.seq(figure.value), lo, hi, figure.n)

    def as_dict(self) -> dict[str, object]:
        return {
            "metric": self.metric,
            "population": list(self.population),
            "n": len(self.population),
            "centre": self.centre,
            "spread": self.spread,
            "recipe": self.recipe,
            "item_set": self.item_set,
            "hash": self.hash,
        }


@dataclass(frozen=True)
class NoNorm:
    reason: str


def cohort_norm(values: Mapping[str, float], *, metric: str, item_set: str = "") -> Norm | NoNorm:
    """The published recipe: median and 1.4826 MAD of the cohort, the random row included by the caller.

    Where more than half the cohort is equal the MAD is 0; then 1.2533 times the mean absolute deviation from the median.
    """
    if len(values) < MIN_COHORT:
        return NoNorm(f"a norm needs at least {MIN_COHORT} systems, there are {len(values)}")
    centre = median(values.values())
    deviations = [abs(value - centre) for value in values.values()]
    spread, recipe = MAD_TO_SD * median(deviations), "median, 1.4826 MAD"
    if spread <= 1e-12:  # noqa: PLR2004 -- equal up to rounding
        spread, recipe = MEAN_DEVIATION_TO_SD * fmean(deviations), "median, 1.2533 mean absolute deviation"
    if spread <= 1e-12:  # noqa: PLR2004
        return NoNorm("no variation: all systems have the same figure")
    return Norm(metric, tuple(sorted(values)), centre, spread, recipe, item_set)


def sear_reward(given: int, intended: int, *, scale: tuple[int, int] = (1, 4)) -> float:
    """The exponential reward of a grade: 2 when it is right, falling by e^-2 a step, 0 at the far end of the scale."""
    distance = abs(given - intended)
    if distance >= scale[1] - scale[0]:
        return 0.0
    return 2 * math.exp(-2 * distance)
