"""What a round asks of its judges, and the pure tests of whether a person meets it.

Gold: an answer is right when its verdict is the known one (where one is set) and every known grade is met within the
tolerance. Signs of answering without listening are evidence for a researcher, never a verdict of their own.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from scipy.special import bdtrc

from eqstudio.errors import InvalidInput
from eqstudio.estimates import Estimate, wilson

REJECT = "reject"
FASTEST_PLAYBACK = 2.0
"""The player's highest speed: nobody hears a second of sound in less than half a second."""
SLOT_P = 0.001
"""Answering by slot is reported below this probability of so lopsided a run by chance."""

_WHOLE = {
    "headphones_hours": (1, 720),
    "qualification_items": (0, 200),
    "qualification_tries": (1, 10),
    "gold_first": (0, 200),
    "gold_every": (0, 1000),
    "gold_window": (1, 500),
    "repeat_every": (0, 1000),
    "repeat_gap": (0, 1000),
    "straight_line": (0, 200),
    "same_slot": (0, 500),
    "flags_pause": (1, 100),
}
_NOT_EVERY_ONE = ("gold_every", "repeat_every")
"""Of these one in one would leave no work: 0 is off, 2 the most often."""


@dataclass(frozen=True)
class QualityRules:
    """The rules of a round for its judges. Everything is off by default: 0 and False ask for nothing."""

    headphones: bool = False
    headphones_hours: int = 12
    """For how long a passed headphone check is good."""
    training: bool = False
    training_pass: float = 0.7
    """Share of the training items that must be right at the first answer."""
    qualification_pass: float = 0.0
    """Share of a try that must be right; 0 asks for no qualification."""
    qualification_items: int = 0
    """Items in one try; 0 takes all there are. Each try has items of its own."""
    qualification_tries: int = 1
    gold_first: int = 0
    """Items with a known answer before any work."""
    gold_every: int = 0
    """Then one about every so many items of work; the exact place varies."""
    gold_pass: float = 0.7
    gold_window: int = 10
    """The latest this many answers to gold are looked at together."""
    repeat_every: int = 0
    repeat_gap: int = 20
    """Items of work that lie at least between an item and its repetition."""
    fastest_share: float = 0.0
    """Active time below this share of the sound that was heard is impossible."""
    straight_line: int = 0
    """So many equal answers in a row on different items."""
    same_slot: int = 0
    """The comparisons in so many answers in a row are tested for one slot always having the higher grade."""
    auto_pause: bool = False
    flags_pause: int = 3
    """So many open flags since the last review pause a person, where ``auto_pause`` is set."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> QualityRules:
        """Read what a round stores. InvalidInput names the first key that is wrong."""
        known = {field.name for field in fields(cls)}
        for key in data:
            if key not in known:
                raise InvalidInput(f"quality has {key!r}; known are {', '.join(sorted(known))}.", field=str(key))
        rules = cls(**data)
        for field in fields(cls):
            _value_check(field.name, getattr(rules, field.name))
        return rules

    @classmethod
    def recommended(cls) -> QualityRules:
        """What a new round starts from in the form."""
        return cls(
            gold_first=3,
            gold_every=15,
            repeat_every=40,
            fastest_share=0.4,
            straight_line=12,
            same_slot=20,
            auto_pause=True,
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def gold_least(self) -> int:
        """From how many answers to gold on the share is judged: the window, or the onboarding where that is shorter."""
        return min(self.gold_first, self.gold_window) if self.gold_first else self.gold_window


def _value_check(key: str, value: Any) -> None:
    if key in ("headphones", "training", "auto_pause"):
        if not isinstance(value, bool):
            raise InvalidInput(f"quality: {key} is true or false, not {value!r}.", field=key)
    elif key in _WHOLE:
        low, high = _WHOLE[key]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidInput(f"quality: {key} is a whole number from {low} to {high}, not {value!r}.", field=key)
        if key in _NOT_EVERY_ONE and value == 1:
            raise InvalidInput(f"quality: {key} is 0 (off) or at least 2, so that work is left.", field=key)
    elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"quality: {key} is a share between 0 and 1, not {value!r}.", field=key)


# Gold


class Known(NamedTuple):
    """The known answer. An empty verdict takes either; ``grades`` by variant uid, each met within ``tolerance``."""

    verdict: str
    grades: Mapping[str, int]
    tolerance: int = 1


class GoldCheck(NamedTuple):
    """``verdict`` is None where none is set; ``grades`` says by variant uid whether it was met."""

    right: bool
    verdict: bool | None
    grades: dict[str, bool]


def gold_check(known: Known, *, verdict: str, grades: Mapping[str, int]) -> GoldCheck:
    """Hold an answer against the known one. A grade that was not given is wrong, except where rejecting is right:
    a rejected item need not be graded.
    """
    verdict_right = verdict == known.verdict if known.verdict else None
    excused = verdict == known.verdict == REJECT
    met = {
        uid: (uid in grades and abs(grades[uid] - value) <= known.tolerance) or (excused and uid not in grades)
        for uid, value in known.grades.items()
    }
    return GoldCheck(right=verdict_right is not False and all(met.values()), verdict=verdict_right, grades=met)


def share(rights: Sequence[bool], *, reason: str = "nothing was asked") -> Estimate:
    """The share that is right, with its Wilson interval (Wilson 1927)."""
    if not rights:
        return Estimate.undefined(reason)
    right, n = sum(rights), len(rights)
    lo, hi = wilson(right, n)
    return Estimate(value=right / n, lo=lo, hi=hi, n=n)


def gold_low(rights: Sequence[bool], rules: QualityRules) -> Estimate | None:
    """The share over the latest window where it lies below the pass mark and there are enough answers, else None."""
    if len(rights) < rules.gold_least:
        return None
    found = share(rights[-rules.gold_window :])
    return found if found.value is not None and found.value < rules.gold_pass else None


def passed(rights: Sequence[bool], mark: float) -> bool:
    """Whether the share that is right reaches the mark; of nothing it does."""
    return not rights or sum(rights) >= mark * len(rights) - 1e-9


class Doubt(NamedTuple):
    """Of ``good`` people who meet the other known answers, ``failed`` miss this one."""

    failed: int
    good: int

    @property
    def suspicious(self) -> bool:
        """Most of at least three good judges fail: the known answer may be wrong."""
        return self.good >= _GOOD_LEAST and self.failed * 2 > self.good


_GOOD_LEAST = 3
_OTHERS_LEAST = 2


def doubts(answers: Mapping[int, Mapping[int, bool]], *, mark: float) -> dict[int, Doubt]:
    """By item how good judges did on it. ``answers`` by person and item; good is who meets the mark on at least two
    other items, so that an item does not speak for itself.
    """
    found: dict[int, Doubt] = {}
    for results in answers.values():
        for item, right in results.items():
            others = [met for other, met in results.items() if other != item]
            if len(others) >= _OTHERS_LEAST and passed(others, mark):
                seen = found.get(item, Doubt(0, 0))
                found[item] = Doubt(seen.failed + (not right), seen.good + 1)
    return found


# When the next gold or repeated item is due


def spacing(every: int, *, seed: str, nth: int) -> int:
    """Items of work before the ``nth`` special one: ``every`` on average, between half and one and a half of it, drawn
    from ``seed``, so that nobody can count ahead.
    """
    low, high = math.ceil(every / 2), every + every // 2
    digest = hashlib.blake2b(f"{seed}:{nth}".encode(), digest_size=8).digest()
    return low + int.from_bytes(digest, "big") % (high - low + 1)


def gold_due(rules: QualityRules, *, since: int, given: int, seed: str) -> bool:
    """Whether gold comes next after ``since`` items of work and ``given`` items of gold."""
    if given < rules.gold_first:
        return True
    return bool(rules.gold_every) and since >= spacing(rules.gold_every, seed=seed, nth=given)


def repeat_due(rules: QualityRules, *, since: int, given: int, seed: str) -> bool:
    """Whether a repetition comes next after ``since`` items of work and ``given`` repetitions."""
    return bool(rules.repeat_every) and since >= spacing(rules.repeat_every, seed=f"{seed}:again", nth=given)


# Signs of answering without listening


def heard_seconds(heard: Mapping[str, Iterable[Sequence[float]]]) -> float:
    """Seconds of sound in the union of the played intervals of every clip."""
    total = 0.0
    for intervals in heard.values():
        reached = 0.0
        for start, end in sorted((float(start), float(end)) for start, end in intervals):
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
    return total


def too_fast(*, active_s: float, heard_s: float, wall_s: float, fastest_share: float) -> dict[str, float] | None:
    """The evidence when the times cannot be: active time below ``fastest_share`` of the sound that is said to have been
    heard, or less time on the clock than the sound takes at the highest speed. None where they can, or with a share of 0.
    """
    if fastest_share <= 0 or heard_s <= 0:
        return None
    if active_s >= fastest_share * heard_s and wall_s >= heard_s / FASTEST_PLAYBACK:
        return None
    return {"active_s": round(active_s, 1), "heard_s": round(heard_s, 1), "wall_s": round(wall_s, 1)}


def straight_line(answers: Sequence[tuple[Hashable, tuple[Any, ...]]], *, least: int) -> bool:
    """Whether the latest ``least`` answers, (item, answer by slot) in order, are all equal though all items differ."""
    if least <= 0 or len(answers) < least:
        return False
    latest = answers[-least:]
    return len({answer for _, answer in latest}) == 1 and len({item for item, _ in latest}) == least


class SlotBias(NamedTuple):
    """``times`` of ``n`` comparisons over ``slots`` slots had the highest grade in ``slot`` (from 0)."""

    slot: int
    times: int
    n: int
    slots: int
    p: float


def highest_slot(grades: Sequence[int]) -> int | None:
    """The slot with the highest grade, in the order shown; None where two share it."""
    best = max(grades, default=None)
    places = [place for place, grade in enumerate(grades) if grade == best]
    return places[0] if len(grades) > 1 and len(places) == 1 else None


def slot_bias(comparisons: Sequence[tuple[int, int]]) -> SlotBias | None:
    """Exact binomial test of (slot with the highest grade, number of slots), over comparisons with the commonest number.

    Orders are random, so each of k slots is the highest with probability 1/k. ``p`` is k times the upper tail of the
    commonest slot, at most 1; with two slots that is the two-sided test. None without comparisons.
    """
    if not comparisons:
        return None
    slots = Counter(slots for _, slots in comparisons).most_common(1)[0][0]
    chosen = [slot for slot, of in comparisons if of == slots]
    slot, times = min(Counter(chosen).items(), key=lambda pair: (-pair[1], pair[0]))
    p = min(1.0, slots * float(bdtrc(times - 1, len(chosen), 1 / slots)))
    return SlotBias(slot=slot, times=times, n=len(chosen), slots=slots, p=p)
