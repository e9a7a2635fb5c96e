"""Does a meter solve the benchmark? How well loudness, length, pitch and brightness tell the right rendition from the wrong
one, each alone and all together.

Pure: pairs in, figures out. A rule is scored in its better direction, and the direction is said; with few pairs that alone
lifts the figure above one half, so it is read beside its interval.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from eqstudio.estimates import Estimate, clustered_share

if TYPE_CHECKING:
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float64]

WARN_ABOVE = 0.65
FOLDS = 10
RIDGE = 1.0
_NEWTON_STEPS = 25
_CLOSE = 1e-8


@dataclass(frozen=True)
class Cue:
    """A measure, and what a rule that follows it says: choose the clip with less of it, or with more. ``usual`` is the
    one that is named when neither does better.
    """

    name: str
    less: str
    more: str
    usual: str


CUES = (
    Cue("loudness", "quieter", "louder", usual="quieter"),
    Cue("duration", "shorter", "longer", usual="longer"),
    Cue("pitch", "lower pitch", "higher pitch", usual="lower pitch"),
    Cue("centroid", "darker", "brighter", usual="darker"),
)
TOGETHER = "together"


@dataclass(frozen=True)
class Pair:
    """The measures of the right and of a wrong rendition of one line. ``group`` is the dialogue they belong to."""

    group: str
    right: Mapping[str, float | None]
    wrong: Mapping[str, float | None]

    def difference(self, cue: str) -> float | None:
        """Right minus wrong; None where one of them lacks the measure."""
        right, wrong = self.right.get(cue), self.wrong.get(cue)
        return None if right is None or wrong is None else right - wrong


@dataclass(frozen=True)
class Rule:
    """What following one cue, or all of them, gives. ``direction`` is the choice that does better."""

    cue: str
    direction: str
    accuracy: Estimate

    @property
    def warns(self) -> bool:
        return self.accuracy.value is not None and self.accuracy.value > WARN_ABOVE

    def as_dict(self) -> dict[str, Any]:
        return {
            "cue": self.cue,
            "direction": self.direction,
            "accuracy": self.accuracy.as_dict(),
            "warns": self.warns,
        }


@dataclass(frozen=True)
class Guard:
    """All rules over the same pairs."""

    pairs: int
    groups: int
    rules: tuple[Rule, ...]

    @property
    def warns(self) -> bool:
        return any(rule.warns for rule in self.rules)

    def as_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "dialogues": self.groups,
            "warn_above": WARN_ABOVE,
            "warns": self.warns,
            "rules": [rule.as_dict() for rule in self.rules],
        }


def shortcut_guard(pairs: Sequence[Pair], *, seed: int = 0) -> Guard:
    """Every cue alone, then all of them in a logistic model that is tried on dialogues it has not seen."""
    rules = [cue_rule(pairs, cue) for cue in CUES]
    rules.append(Rule(TOGETHER, TOGETHER, model_accuracy(pairs, seed=seed)))
    return Guard(pairs=len(pairs), groups=len({pair.group for pair in pairs}), rules=tuple(rules))


def cue_rule(pairs: Sequence[Pair], cue: Cue) -> Rule:
    """The better of "less" and "more". Pairs that do not differ, or lack the measure, say nothing and are left out."""
    differences = [pair.difference(cue.name) for pair in pairs]
    told = [(difference, pair.group) for difference, pair in zip(differences, pairs, strict=True) if difference]
    if not told:
        return Rule(cue.name, cue.usual, Estimate.undefined("no pair differs in this measure"))
    less = sum(difference < 0 for difference, _group in told)
    more = len(told) - less
    better = cue.usual if less == more else cue.less if less > more else cue.more
    hits = [(difference < 0) == (less >= more) for difference, _group in told]
    return Rule(cue.name, better, _share(hits, [group for _difference, group in told]))


def model_accuracy(pairs: Sequence[Pair], *, seed: int = 0) -> Estimate:
    """How often a ridge-regularised logistic model on the differences of all cues picks the right rendition of a dialogue
    that was held out. Its score of a pair changes its sign with the order, so neither order is favoured.
    """
    groups = list(dict.fromkeys(pair.group for pair in pairs))
    if len(groups) < 2:  # noqa: PLR2004 -- one to learn from, one to try
        return Estimate.undefined("a model needs pairs of at least two dialogues", n=len(pairs))
    features = np.array([[pair.difference(cue.name) or 0.0 for cue in CUES] for pair in pairs])
    if not features.any():
        return Estimate.undefined("no pair differs in any measure", n=len(pairs))
    Random(seed).shuffle(groups)  # noqa: S311 -- a fair split, not secrecy
    fold_of = {group: number % min(FOLDS, len(groups)) for number, group in enumerate(groups)}
    folds = np.array([fold_of[pair.group] for pair in pairs])
    hits = np.zeros(len(pairs), dtype=bool)
    for fold in range(min(FOLDS, len(groups))):
        held = folds == fold
        hits[held] = features[held] @ _fitted(features[~held]) > 0
    return _share(hits.tolist(), [pair.group for pair in pairs])


def _fitted(differences: Matrix) -> Matrix:
    """Weights of a logistic model without intercept that prefers the right rendition in ``differences`` (right minus
    wrong), by Newton's method; on features scaled to a mean square of one, with a penalty on their squares.
    """
    scale = np.sqrt(np.mean(differences**2, axis=0))
    scale[scale == 0] = 1.0
    scaled = differences / scale
    weights = np.zeros(scaled.shape[1])
    for _step in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (1 - chance) - RIDGE * weights
        curve = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.abs(step).max() < _CLOSE:
            break
    return np.asarray(weights / scale)


def _share(hits: Sequence[bool], groups: Sequence[str]) -> Estimate:
    """The share of ``hits``; pairs of one dialogue are not independent."""
    by_group: dict[str, list[bool]] = defaultdict(list)
    for hit, group in zip(hits, groups, strict=True):
        by_group[group].append(hit)
    return clustered_share((sum(found), len(found)) for found in by_group.values())
