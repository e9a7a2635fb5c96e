"""What a SEQ is relative to: a declared norm. Also the reward that grades a grade.

Three norms can be declared: the cohort at hand by the published recipe, a cohort that was frozen earlier (so that a newcomer
moves nobody), and people. Two SEQ are comparable only under one norm, so every SEQ names its norm's hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean, median, stdev

from eqstudio.estimates import Estimate

MAD_TO_SD = 1.4826
MEAN_DEVIATION_TO_SD = 1.2533
CLIP = 4.0
MIN_COHORT = 3
EQUAL = 1e-12
Z95 = 1.959964


@dataclass(frozen=True)
class Norm:
    """Whose figures are 100 and 15 apart: centre and spread of ``population`` on one metric.

    ``kind`` is cohort, frozen or people. ``sampled`` says that the population is a sample of people, whose own error belongs
    into the interval; ``reliability`` is the share of the spread that is not error of measurement.
    """

    metric: str
    population: tuple[str, ...]
    centre: float
    spread: float
    recipe: str
    item_set: str = ""
    kind: str = "cohort"
    name: str = ""
    sampled: bool = False
    reliability: float | None = None

    @property
    def hash(self) -> str:
        content = [self.metric, sorted(self.population), round(self.centre, 9), round(self.spread, 9), self.item_set]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def seq(self, value: float) -> float:
        return 100 + 15 * max(-CLIP, min(CLIP, (value - self.centre) / self.spread))

    def estimate(self, figure: Estimate) -> Estimate:
        """The SEQ of a figure: its interval is the figure's, seen through the norm. A norm of systems is taken as known; one of
        people adds its own error, 15 sqrt((1 + z^2 / 2) / n).
        """
        if figure.value is None:
            return figure
        lo = None if figure.lo is None else self.seq(figure.lo)
        hi = None if figure.hi is None else self.seq(figure.hi)
        value = self.seq(figure.value)
        if self.sampled and lo is not None and hi is not None:
            own = Z95 * self.error(value)
            lo, hi = value - math.hypot(value - lo, own), value + math.hypot(hi - value, own)
        return Estimate(value, lo, hi, figure.n)

    def error(self, seq: float) -> float:
        """Standard error that a norm of n people adds at this SEQ."""
        z = (seq - 100) / 15
        return 15 * math.sqrt((1 + z * z / 2) / max(1, len(self.population)))

    @property
    def measurement_error(self) -> float | None:
        """Standard error of measurement in SEQ points: 15 sqrt(1 - reliability)."""
        return None if self.reliability is None else 15 * math.sqrt(max(0.0, 1 - self.reliability))

    def as_dict(self) -> dict[str, object]:
        return {
            **asdict(self),
            "population": list(self.population),
            "n": len(self.population),
            "measurement_error": self.measurement_error,
            "hash": self.hash,
        }

    def frozen(self, name: str) -> Norm:
        """The same norm under a name, as it will be used again."""
        return replace(self, kind="frozen", name=name)


@dataclass(frozen=True)
class NoNorm:
    reason: str


PUBLISHED_COHORT = {
    "Random": 0.25,
    "emo_num + Qwen3-30B": 0.358,
    "emo_des + Qwen3-30B": 0.403,
    "Qwen2.5-Omni-3B": 0.306,
    "Qwen2.5-Omni-7B": 0.26,
    "Qwen3-Omni-30B": 0.583,
    "Kimi-Audio-7B-Instruct": 0.242,
    "MiMo-Audio-7B-Instruct": 0.271,
    "Fun-Audio-Chat-8B": 0.365,
    "Gemini-2.5-pro": 0.449,
    "gpt-audio-1.5": 0.317,
}
"""Acc_traj of the systems in SpeechEQ's published table, the random row included: a frozen cohort that anybody can use."""


def cohort_norm(values: Mapping[str, float], *, metric: str, item_set: str = "") -> Norm | NoNorm:
    """The published recipe: median and 1.4826 MAD of the cohort, the random row included by the caller.

    Where more than half the cohort is equal the MAD is 0; then 1.2533 times the mean absolute deviation from the median.
    """
    if len(values) < MIN_COHORT:
        return NoNorm("fewer than three systems, guessing included, answered every item")
    centre = median(values.values())
    deviations = [abs(value - centre) for value in values.values()]
    spread, recipe = MAD_TO_SD * median(deviations), "median, 1.4826 MAD"
    if spread <= EQUAL:
        spread, recipe = MEAN_DEVIATION_TO_SD * fmean(deviations), "median, 1.2533 mean absolute deviation"
    if spread <= EQUAL:
        return NoNorm("no variation: all systems have the same figure")
    return Norm(metric, tuple(sorted(values)), centre, spread, recipe, item_set)


def published_norm() -> Norm:
    """The norm of SpeechEQ's published table."""
    found = cohort_norm(PUBLISHED_COHORT, metric="acc_traj", item_set="SpeechEQ, 2,265 dialogues")
    if isinstance(found, NoNorm):
        raise TypeError(found.reason)
    return found.frozen("published")


def people_norm(
    means: Sequence[float], errors: Sequence[float], *, names: Sequence[str], metric: str, item_set: str = ""
) -> Norm | NoNorm:
    """SEQ = 100 + 15 (x - mean) / sd over people. ``errors`` are the standard errors of their means: the mean of their squares is
    the part of the variance between people that is only the length of the exam, which the reliability tells.
    """
    if len(means) < MIN_COHORT:
        return NoNorm("fewer than three people have answered")
    spread = stdev(means)
    if spread <= EQUAL:
        return NoNorm("no variation: all people have the same figure")
    noise = fmean(error**2 for error in errors)
    return Norm(
        metric,
        tuple(sorted(names)),
        fmean(means),
        spread,
        "mean, standard deviation of people",
        item_set,
        kind="people",
        sampled=True,
        reliability=max(0.0, 1 - noise / spread**2),
    )


def sear_reward(given: int, intended: int, *, scale: tuple[int, int] = (1, 4)) -> float:
    """The exponential reward of a grade: 2 when it is right, falling by e^-2 a step, 0 at the far end of the scale."""
    distance = abs(given - intended)
    if distance >= scale[1] - scale[0]:
        return 0.0
    return 2 * math.exp(-2 * distance)
