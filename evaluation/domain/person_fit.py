"""Who answers against the grain of the others: a figure with its evidence, never a reason to leave anybody out by itself.

How near a person's answers come to those of the others is held against what it would be if the answers to each item had been
dealt to its people at random (a permutation within items, as for the rank tests of Friedman and of Page). Under it the sum of a
person's nearness is one of independent discrete parts, whose distribution is worked out by convolution: where people mostly agree
it is skewed, and a normal one would accuse the innocent. It asks for no key: somebody may be against the grain and right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm, sqrt
from statistics import fmean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FEWEST = 3
"""A question tells something once so many people have answered it."""
EVIDENCE = 5
NOISE = 1e-9
"""A smaller spread is that of rounding."""
CELLS = 8_192
"""Sums are counted on a lattice of no more cells, or twice as many as there are items."""
_LEAST_P = 1e-12
"""The convolution is by Fourier transforms, whose rounding would show below."""
_AT_ONCE = 200


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
    the same questions; ``z`` is below 0 for who answers otherwise than the others do, ``p`` the chance of a sum so low. ``against``
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
    given = list(said)
    near = _nearness(given)
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
    chances = _chances(gaps, _fineness(given, near))
    found = [_fit(person, items, spread, near, chances[person]) for person, items in gaps.items()]
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
    person: int,
    items: Mapping[int, float],
    spread: Mapping[int, float],
    near: Mapping[int, list[dict[int, float]]],
    chance: float,
) -> Fit:
    mine = [each for item in items for each in near[item] if person in each]
    error = sqrt(sum(spread[item] for item in items))
    z = sum(items.values()) / error if error > NOISE else None
    worst = sorted((round(value, 9), item) for item, value in items.items() if value < 0)
    return Fit(
        person=person,
        same=fmean(each[person] for each in mine),
        expected=fmean(fmean(each.values()) for each in mine),
        z=z,
        p=None if z is None else chance,
        n=len(mine),
        against=tuple(item for _value, item in worst[:EVIDENCE]),
    )


def _fineness(said: Iterable[Said], near: Mapping[int, list[dict[int, float]]]) -> int:
    """Cells for a nearness of 1. Every nearness is a whole number of them."""
    others = {len(each) - 1 for questions in near.values() for each in questions}
    return min(lcm(*others, *{int(one.reach) or 1 for one in said}), 10**9)


def _chances(gaps: Mapping[int, Mapping[int, float]], fineness: int) -> dict[int, float]:
    """By person: how often the sum would be as low as theirs, had the answers to each item been dealt at random.

    Where the lattice is too coarse for exact sums, nearness is rounded to it before, for the person and for the chances alike:
    then it is the exact chance of a sum that differs a little.
    """
    rows: dict[int, dict[int, float]] = {}
    for person, items in gaps.items():
        for item, value in items.items():
            rows.setdefault(item, {})[person] = value
    widest = {item: max(row.values()) - min(row.values()) for item, row in rows.items()}
    most = max((sum(widest[item] for item in items) for items in gaps.values()), default=0.0)
    longest = max(map(len, gaps.values()), default=0)
    room = max(CELLS, 2 * longest) - longest - 1
    fine = float(fineness) if fineness * most <= room else room / most
    cells = {
        item: {person: round((value - min(row.values())) * fine) for person, value in row.items()}
        for item, row in rows.items()
    }
    people: dict[frozenset[int], list[int]] = {}
    for person, items in gaps.items():
        people.setdefault(frozenset(items), []).append(person)
    groups = sorted(people, key=sorted)
    size = 1 << int(fine * most + longest + 1).bit_length()
    found: dict[int, float] = {}
    for start in range(0, len(groups), _AT_ONCE):
        some = groups[start : start + _AT_ONCE]
        for group, low in zip(some, _as_low(some, cells, size), strict=True):
            for person in people[group]:
                reached = sum(cells[item][person] for item in group)
                found[person] = float(min(max(low[reached], _LEAST_P), 1.0))
    return found


def _as_low(
    groups: Sequence[frozenset[int]], cells: Mapping[int, Mapping[int, int]], size: int
) -> npt.NDArray[np.float64]:
    """For each set of items, the chance of a sum up to each of ``size`` cells."""
    spectra = np.ones((len(groups), size // 2 + 1), dtype=complex)
    for item in sorted(frozenset().union(*groups)):
        parts = np.bincount(list(cells[item].values()), minlength=size) / len(cells[item])
        spectrum = np.fft.rfft(parts)
        for place, group in enumerate(groups):
            if item in group:
                spectra[place] *= spectrum
    return np.fft.irfft(spectra, n=size).cumsum(axis=1)
