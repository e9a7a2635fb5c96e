"""Does an answer follow the sound or the slot: position bias in questions with two options.

From which slot was chosen and whether that was right follows where the right one stood, so nothing here reads a key.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from eqstudio.estimates import Estimate
from evaluation.domain.resampling import Floats, Resampling, interval
from evaluation.domain.statistics import rate_estimate

NOT_TWO = "no question has two options"
ONE_ORDER = "no question was shown in both orders"
ONE_PLACE = "the right option always stood in the same slot"
_PROBIT = NormalDist().inv_cdf


@dataclass(frozen=True, slots=True)
class Pick:
    """One answer to a question with two options: the slot chosen (0 or 1), and whether that was the right one."""

    item: int
    key: str
    run: int
    slot: int
    correct: bool

    @property
    def right_first(self) -> bool:
        return (self.slot == 0) == self.correct


@dataclass(frozen=True)
class Slots:
    """What two-option answers tell about the slots; ``p_first`` is the exact two-sided p of no preference."""

    first: Estimate
    p_first: float | None
    dprime: Estimate
    criterion: Estimate
    right_when_first: Estimate
    right_when_second: Estimate
    mixed: int
    consistent: Estimate
    consistent_right: Estimate
    one_slot: Estimate

    def estimates(self) -> dict[str, Estimate]:
        return {
            "first_slot": self.first,
            "dprime": self.dprime,
            "criterion": self.criterion,
            "right_when_first": self.right_when_first,
            "right_when_second": self.right_when_second,
            "order_consistent": self.consistent,
            "order_consistent_right": self.consistent_right,
            "one_slot": self.one_slot,
        }


def slots_of(
    picks: Sequence[Pick],
    *,
    repeated: bool = True,
    resampling: Resampling | None = None,
    place: Mapping[int, int] | None = None,
) -> Slots:
    """Every figure on slots; ``repeated`` says that one respondent answered the same questions more than once, which is what
    consistency is about. ``resampling`` with ``place`` (column of an item) gives d' and c their intervals.
    """
    from scipy.stats import binomtest  # noqa: PLC0415 -- slow import, 48 MB

    firsts = sum(pick.slot == 0 for pick in picks)
    first = rate_estimate(firsts, len(picks)) if picks else Estimate.undefined(NOT_TWO)
    p_first = float(binomtest(firsts, len(picks)).pvalue) if picks else None
    dprime, criterion = _detection(picks, resampling, place or {})
    groups = _by_question(picks).values() if repeated else ()
    mixed = [group for group in groups if len(group) > 1 and len({pick.right_first for pick in group}) > 1]
    same = [len({pick.correct for pick in group}) == 1 for group in mixed]
    same_right = [all(pick.correct for pick in group) for group in mixed]
    stuck = [len({pick.slot for pick in group}) == 1 for group in mixed]
    return Slots(
        first=first,
        p_first=p_first,
        dprime=dprime,
        criterion=criterion,
        right_when_first=_right([pick for pick in picks if pick.right_first]),
        right_when_second=_right([pick for pick in picks if not pick.right_first]),
        mixed=len(mixed),
        consistent=_share(same),
        consistent_right=_share(same_right),
        one_slot=_share(stuck),
    )


def _right(picks: Sequence[Pick]) -> Estimate:
    return rate_estimate(sum(pick.correct for pick in picks), len(picks)) if picks else Estimate.undefined(ONE_PLACE)


def _share(flags: Sequence[bool]) -> Estimate:
    return rate_estimate(sum(flags), len(flags)) if flags else Estimate.undefined(ONE_ORDER)


def _by_question(picks: Iterable[Pick]) -> dict[Hashable, list[Pick]]:
    groups: dict[Hashable, list[Pick]] = {}
    for pick in picks:
        groups.setdefault((pick.item, pick.key), []).append(pick)
    return groups


def _detection(
    picks: Sequence[Pick], resampling: Resampling | None, place: Mapping[int, int]
) -> tuple[Estimate, Estimate]:
    """Sensitivity and bias of "the first one is right", by the log-linear rule (half a case added to each cell)."""
    counts = detection_counts(picks)
    n = len(picks)
    if n == 0:
        return Estimate.undefined(NOT_TWO), Estimate.undefined(NOT_TWO)
    if counts[1] == 0 or counts[3] == 0:
        return Estimate.undefined(ONE_PLACE, n=n), Estimate.undefined(ONE_PLACE, n=n)
    dprime, criterion = sensitivity(*counts)
    if resampling is None or len(resampling.items) == 0:
        return Estimate(dprime, n=n), Estimate(criterion, n=n)
    table = _by_item(picks, place, resampling.items.shape[1])
    drawn = np.maximum(resampling.items @ table, 0)
    from scipy.special import ndtri  # noqa: PLC0415 -- slow import

    hits = ndtri((drawn[:, 0] + 0.5) / (drawn[:, 1] + 1))
    alarms = ndtri((drawn[:, 2] + 0.5) / (drawn[:, 3] + 1))
    return (
        Estimate(dprime, *interval((hits - alarms) / math.sqrt(2)), n),
        Estimate(criterion, *interval(-(hits + alarms) / 2), n),
    )


def _by_item(picks: Sequence[Pick], place: Mapping[int, int], items: int) -> Floats:
    """The four counts of ``detection_counts`` for each item."""
    columns = np.asarray([place[pick.item] for pick in picks])
    first = np.asarray([pick.slot == 0 for pick in picks])
    right_first = first == np.asarray([pick.correct for pick in picks])
    cells = (first & right_first, right_first, first & ~right_first, ~right_first)
    return np.stack([np.bincount(columns, weights=cell, minlength=items) for cell in cells], axis=1)


def detection_counts(picks: Sequence[Pick]) -> tuple[int, int, int, int]:
    """Said "first" when it was first, how often it was; said "first" when it was second, how often it was."""
    when_first = [pick.slot == 0 for pick in picks if pick.right_first]
    when_second = [pick.slot == 0 for pick in picks if not pick.right_first]
    return sum(when_first), len(when_first), sum(when_second), len(when_second)


def sensitivity(hits: int, signals: int, alarms: int, noises: int) -> tuple[float, float]:
    """Sensitivity d' and bias c for two-alternative forced choice with the log-linear correction (Hautus 1995): d' = (z(H) - z(F)) / sqrt 2,
    c = -(z(H) + z(F)) / 2; c below 0 leans to the first slot.
    """
    hit, alarm = _PROBIT((hits + 0.5) / (signals + 1)), _PROBIT((alarms + 0.5) / (noises + 1))
    return (hit - alarm) / math.sqrt(2), -(hit + alarm) / 2
