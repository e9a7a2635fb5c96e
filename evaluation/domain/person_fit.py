"""Who answers against the grain of the others: a figure with its evidence, never a reason to leave anybody out by itself.

How near a person's answers come to those of the others is held against what it would be if the answers to each item had been
dealt to its people at random (a permutation within items, as for the rank tests of Friedman and of Page; its mean and spread are
exact). It asks for no key: somebody may be against the grain and right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import erfc, sqrt
from statistics import fmean
from typing import NamedTuple

FEWEST = 3
"""A question tells something once so many people have answered it."""
EVIDENCE = 5


class Said(NamedTuple):
    """One person's answer to one question: which option, or which grade. ``reach`` is the width of the scale; 0 for options."""

    person: int
    item: int
    key: str
    value: float
    reach: float = 0.0


@dataclass(frozen=True)
class Fit:
    """``same`` is the mean nearness of a person's answers to the others' (1: always the same), ``expected`` that of everybody on
    the same questions; ``z`` is below 0 for who answers otherwise than the others do, ``p`` the chance of one so low. ``against``
    names the items that speak most for it, the strongest first.
    """

    person: int
    same: float
    expected: float
    z: float | None
    p: float | None
    n: int
    against: tuple[int, ...]


def fits_of(said: Iterable[Said]) -> list[Fit]:
    """Everybody who answered a question that two others answered as well, the least fitting first."""
    near = _nearness(said)
    gaps: dict[int, dict[int, float]] = {}
    spread: dict[int, float] = {}
    for item, questions in near.items():
        apart: dict[int, float] = {}
        for each in questions:
            mean = fmean(each.values())
            for person, value in each.items():
                apart[person] = apart.get(person, 0.0) + value - mean
        spread[item] = fmean(value**2 for value in apart.values())
        for person, value in apart.items():
            gaps.setdefault(person, {})[item] = value
    found = [_fit(person, items, spread, near) for person, items in gaps.items()]
    return sorted(found, key=lambda one: (one.z is None, round(one.z or 0.0, 9), one.person))


def _nearness(said: Iterable[Said]) -> dict[int, list[dict[int, float]]]:
    """By item, for each of its questions: how near each person is to the mean of the others."""
    by_question: dict[tuple[int, str], dict[int, Said]] = {}
    for one in said:
        by_question.setdefault((one.item, one.key), {})[one.person] = one
    found: dict[int, list[dict[int, float]]] = {}
    for (item, _key), given in by_question.items():
        if len(given) >= FEWEST:
            found.setdefault(item, []).append(_near_others(given))
    return found


def _near_others(given: Mapping[int, Said]) -> dict[int, float]:
    """By person, counted over the few different answers there are: the mean nearness to everybody, less that to oneself."""
    counts = Counter((one.value, one.reach) for one in given.values())
    others = len(given) - 1
    near = {here: (sum(n * _near(here, there) for there, n in counts.items()) - 1) / others for here in counts}
    return {person: near[one.value, one.reach] for person, one in given.items()}


def _near(here: tuple[float, float], there: tuple[float, float]) -> float:
    (a, reach), (b, _reach) = here, there
    return 1 - abs(a - b) / reach if reach else float(a == b)


def _fit(
    person: int, items: Mapping[int, float], spread: Mapping[int, float], near: Mapping[int, list[dict[int, float]]]
) -> Fit:
    mine = [each for item in items for each in near[item] if person in each]
    error = sqrt(sum(spread[item] for item in items))
    z = sum(items.values()) / error if error > 0 else None
    worst = sorted((round(value, 9), item) for item, value in items.items() if value < 0)
    return Fit(
        person=person,
        same=fmean(each[person] for each in mine),
        expected=fmean(fmean(each.values()) for each in mine),
        z=z,
        p=None if z is None else erfc(-z / sqrt(2)) / 2,
        n=len(mine),
        against=tuple(item for _value, item in worst[:EVIDENCE]),
    )
