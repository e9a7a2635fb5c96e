"""A long table of ratings, coded for counting."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from annotation.domain.bootstrap import Floats, Ints
from eqstudio.errors import InvalidInput

Value = str | int | float
MISSING = -1


class Rating(NamedTuple):
    """One rater's value for one item. The last rating of a rater on an item is the one that counts."""

    item: Hashable
    rater: Hashable
    value: Value


@dataclass(frozen=True)
class Coded:
    """``matrix`` holds the index of a value in ``domain`` per item and rater, MISSING where there is none.

    ``numbers`` are the values of the domain as numbers, or None when they are words. ``items`` and ``raters`` are the
    names of its rows and columns.
    """

    matrix: Ints
    domain: tuple[Value, ...]
    numbers: Floats | None
    items: tuple[Hashable, ...]
    raters: tuple[Hashable, ...]

    def counts(self) -> Ints:
        """How often each item got each value: items x values."""
        counts = np.zeros((len(self.items), len(self.domain)), dtype=np.int64)
        item, rater = np.nonzero(self.matrix != MISSING)
        np.add.at(counts, (item, self.matrix[item, rater]), 1)
        return counts


def coded(ratings: Iterable[Rating], domain: Sequence[Value] | None = None) -> Coded:
    """Code ratings against ``domain`` (the whole scale, in order), or against the values that occur.

    Values that all read as numbers are numbers, also when they came as text. InvalidInput for one outside the scale.
    """
    cells = {(rating.item, rating.rater): rating.value for rating in ratings}
    read = _as_numbers(cells.values())
    values = [read.get(value, value) for value in cells.values()]
    scale = tuple(domain) if domain is not None else tuple(sorted(set(values), key=_order))
    place = {value: index for index, value in enumerate(scale)}
    outside = [value for value in values if value not in place]
    if outside:
        raise InvalidInput(f"The value {outside[0]!r} is not on the scale {', '.join(map(str, scale))}.", field="value")
    items = {name: index for index, name in enumerate(dict.fromkeys(item for item, _ in cells))}
    raters = {name: index for index, name in enumerate(dict.fromkeys(rater for _, rater in cells))}
    matrix = np.full((len(items), len(raters)), MISSING, dtype=np.int64)
    for (item, rater), value in zip(cells, values, strict=True):
        matrix[items[item], raters[rater]] = place[value]
    are_numbers = all(isinstance(value, int | float) for value in scale)
    numbers = np.asarray(scale, dtype=np.float64) if are_numbers and scale else None
    return Coded(matrix=matrix, domain=scale, numbers=numbers, items=tuple(items), raters=tuple(raters))


def _order(value: Value) -> tuple[bool, float, str]:
    return (isinstance(value, str), 0.0 if isinstance(value, str) else float(value), str(value))


def _as_numbers(values: Iterable[Value]) -> dict[Value, Value]:
    """Every distinct value as a number, or nothing when one of them is a word."""
    read: dict[Value, Value] = {}
    for value in set(values):
        try:
            number = float(value)
        except ValueError:
            return {}
        if not math.isfinite(number):
            return {}
        read[value] = int(number) if number.is_integer() else number
    return read
