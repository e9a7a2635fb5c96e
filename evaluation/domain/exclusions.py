"""Rules that leave a person out of the figures, each with a threshold and its evidence. They flag; nothing is deleted.

Declared in the protocol before anybody looks. A rule that cannot be tested on somebody (no attention item was asked, say) flags
nobody and says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from evaluation.domain.plan import ATTENTION, ITEM, REPEAT

LEAST_CHOICES = 10
"""Below so many answers a lopsided run says nothing."""
NEAR = 1.0
"""A known grade is met, and a repeated one the same, within one step."""


@dataclass(frozen=True)
class Given:
    """One answer: ``value`` as it was given (a letter or a grade), ``chosen`` what stands behind it (a version, a text, a grade).

    ``seconds`` is the time between the question and its answer on the server's clock; ``sound`` the seconds of sound that had to
    be heard before answering. ``graded``: a number on a scale.
    """

    item: int
    key: str
    value: str
    chosen: str
    part: str = ITEM
    right: bool | None = None
    number: float | None = None
    gold: float | None = None
    graded: bool = False
    offered: int = 0
    among: tuple[str, ...] = ()
    """What stood behind the options, in an order that is the same for everybody."""
    seconds: float | None = None
    sound: float = 0.0


@dataclass(frozen=True)
class Sat:
    """Everything the rules look at in one person's sitting, answers in the order given."""

    given: tuple[Given, ...] = ()
    planned: int = 0
    done: int = 0
    headphones: tuple[int, bool] | None = None
    """Most right answers in a check, and whether one was passed; None where none was made."""
    exposed: int = 0
    key_access: bool = False


class Tested(NamedTuple):
    """A rule's figure over ``n``; ``reason`` says why there is none."""

    value: float | None
    n: int
    reason: str = ""


@dataclass(frozen=True)
class Finding:
    """What a rule found in one person."""

    rule: str
    threshold: float
    value: float | None
    n: int
    flagged: bool
    reason: str = ""


@dataclass(frozen=True)
class Rule:
    """``test`` gives a figure; it flags at or above the threshold (``most``), above it, or below it."""

    test: Callable[[Sat], Tested]
    threshold: float
    flags: Callable[[float, float], bool]


def attention_failed(sat: Sat) -> Tested:
    """Share of the attention items' questions that were missed. A grade is met within one step."""
    asked = [given for given in sat.given if given.part == ATTENTION]
    missed = sum(not _met(given) for given in asked)
    return _share(missed, len(asked), "no attention item was asked")


def too_fast(sat: Sat) -> Tested:
    """Share of the answers that came faster than the sound that had to be heard lasts."""
    timed = [given for given in _data(sat) if given.seconds is not None and given.sound > 0]
    fast = sum(given.seconds < given.sound for given in timed if given.seconds is not None)
    return _share(fast, len(timed), "no answer was timed")


def straight_lined(sat: Sat) -> Tested:
    """The longest run of equal answers."""
    values = [given.value for given in _data(sat) if given.graded or given.offered]
    runs = [len(list(run)) for _value, run in groupby(values)]
    return Tested(float(max(runs)), len(values)) if runs else Tested(None, 0, "no closed question was answered")


def same_slot(sat: Sat) -> Tested:
    """Share of the choices that fell on the one slot chosen most often."""
    slots = [given.value for given in _data(sat) if given.offered and not given.graded]
    if len(slots) < LEAST_CHOICES:
        return Tested(None, len(slots), "fewer than ten choices")
    return Tested(max(slots.count(slot) for slot in set(slots)) / len(slots), len(slots))


def inconsistent_repeats(sat: Sat) -> Tested:
    """Share of the repeated questions that were answered otherwise the second time; a grade one step off is the same."""
    first = {(given.item, given.key): given for given in sat.given if given.part == ITEM}
    pairs = [
        (first[given.item, given.key], given)
        for given in sat.given
        if given.part == REPEAT and (given.item, given.key) in first
    ]
    return _share(sum(not same_again(*pair) for pair in pairs), len(pairs), "nothing was repeated")


def headphones_failed(sat: Sat) -> Tested:
    """1 where a headphone check was made and none passed."""
    if sat.headphones is None:
        return Tested(None, 0, "no headphone check was made")
    return Tested(float(not sat.headphones[1]), 1)


def incomplete(sat: Sat) -> Tested:
    """Share of the planned items that were answered to the end."""
    return _share(sat.done, sat.planned, "nothing was planned")


def exposed_before(sat: Sat) -> Tested:
    """How many of the items the person had met before: wrote them, judged them, or judged a twin."""
    return Tested(float(sat.exposed), sat.planned)


def can_read_key(sat: Sat) -> Tested:
    return Tested(float(sat.key_access), 1)


def _at_least(value: float, threshold: float) -> bool:
    return value >= threshold


def _above(value: float, threshold: float) -> bool:
    return value > threshold


def _below(value: float, threshold: float) -> bool:
    return value < threshold


RULES: Mapping[str, Rule] = {
    "attention_failed": Rule(attention_failed, 0.5, _at_least),
    "too_fast": Rule(too_fast, 0.1, _above),
    "straight_lined": Rule(straight_lined, 12.0, _at_least),
    "same_slot": Rule(same_slot, 0.9, _above),
    "inconsistent_repeats": Rule(inconsistent_repeats, 0.5, _at_least),
    "headphones_failed": Rule(headphones_failed, 1.0, _at_least),
    "incomplete": Rule(incomplete, 1.0, _below),
    "exposed_before": Rule(exposed_before, 0.0, _above),
    "can_read_key": Rule(can_read_key, 1.0, _at_least),
}
"""Every rule of a protocol, its threshold where the protocol names none, and on which side of it a person is flagged."""


def finding(rule: str, threshold: float | None, sat: Sat) -> Finding:
    """Test one rule on one person. A rule without a figure flags nobody."""
    chosen = RULES[rule]
    limit = chosen.threshold if threshold is None else threshold
    tested = chosen.test(sat)
    flagged = tested.value is not None and chosen.flags(tested.value, limit)
    return Finding(rule, limit, tested.value, tested.n, flagged, tested.reason)


def same_again(first: Given, second: Given) -> bool:
    """Whether a repeated question was answered the same: the same version whatever its slot, a grade within one step."""
    if first.number is not None and second.number is not None and first.graded:
        return abs(first.number - second.number) <= NEAR
    return first.chosen == second.chosen


def _met(given: Given) -> bool:
    if given.graded and given.number is not None and given.gold is not None:
        return abs(given.number - given.gold) <= NEAR
    return bool(given.right)


def _data(sat: Sat) -> Sequence[Given]:
    return [given for given in sat.given if given.part == ITEM]


def _share(count: int, n: int, reason: str) -> Tested:
    return Tested(count / n, n) if n else Tested(None, 0, reason)
