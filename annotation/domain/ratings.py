"""A long table of ratings, coded for counting."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.domain.bootstrap import Floats, Ints
from eqstudio.errors import InvalidInput

Value = str | int | float
MISSING = -1
Codes = NDArray[np.integer]
_NARROW = 127


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

    matrix: Codes
    domain: tuple[Value, ...]
    numbers: Floats | None
    items: Sequence[Hashable]
    raters: Sequence[Hashable]
    ordered: bool = False
    """Whether the domain was given in order; words that merely occurred have none, not even that of the alphabet."""

    def counts(self) -> Ints:
        """How often each item got each value: items x values."""
        values = len(self.domain)
        item, rater = np.nonzero(self.matrix != MISSING)
        cells = item * values + self.matrix[item, rater]
        return np.bincount(cells, minlength=len(self.items) * values).reshape(len(self.items), values)


def coded(ratings: Iterable[Rating], domain: Sequence[Value] | None = None) -> Coded:
    """Code ratings against ``domain`` (the whole scale, in order), or against the values that occur.

    Values that all read as numbers are numbers, also when they came as text. InvalidInput for one outside the scale.
    """
    cells = {(rating.item, rating.rater): rating.value for rating in ratings}
    values, scale = on_scale(list(cells.values()), domain)
    items = {name: index for index, name in enumerate(dict.fromkeys(item for item, _ in cells))}
    raters = {name: index for index, name in enumerate(dict.fromkeys(rater for _, rater in cells))}
    return coded_arrays(
        item=np.fromiter((items[item] for item, _ in cells), dtype=np.int64, count=len(cells)),
        rater=np.fromiter((raters[rater] for _, rater in cells), dtype=np.int64, count=len(cells)),
        value=values,
        domain=scale,
        items=tuple(items),
        raters=tuple(raters),
        ordered=domain is not None,
    )


def coded_arrays(
    *,
    item: Ints,
    rater: Ints,
    value: Codes,
    domain: tuple[Value, ...],
    items: Sequence[Hashable] | None = None,
    raters: Sequence[Hashable] | None = None,
    ordered: bool = False,
) -> Coded:
    """A table from one code per rating. Without names, items and raters that do not occur are left out and codes name
    the others.
    """
    rows, item = (items, item) if items is not None else _occurring(item)
    columns, rater = (raters, rater) if raters is not None else _occurring(rater)
    matrix = np.full((len(rows), len(columns)), MISSING, dtype=np.int8 if len(domain) <= _NARROW else np.int64)
    matrix[item, rater] = value
    are_numbers = all(isinstance(value, int | float) for value in domain)
    numbers = np.asarray(domain, dtype=np.float64) if are_numbers and domain else None
    return Coded(matrix=matrix, domain=domain, numbers=numbers, items=rows, raters=columns, ordered=ordered)


def _occurring(codes: Ints) -> tuple[Sequence[Hashable], Ints]:
    names, place = np.unique(codes, return_inverse=True)
    return names.tolist(), place.reshape(-1)


def on_scale(values: Sequence[Value], domain: Sequence[Value] | None = None) -> tuple[Ints, tuple[Value, ...]]:
    """Codes of ``values`` on a scale, and the scale: ``domain``, or the values that occur, in order."""
    distinct = set(values)
    read = _as_numbers(distinct)
    scale = (
        tuple(domain)
        if domain is not None
        else tuple(sorted({read.get(value, value) for value in distinct}, key=_order))
    )
    place = {value: index for index, value in enumerate(scale)}
    outside = sorted((value for value in distinct if read.get(value, value) not in place), key=str)
    if outside:
        raise InvalidInput(f"The value {outside[0]!r} is not on the scale {', '.join(map(str, scale))}.", field="value")
    codes = {value: place[read.get(value, value)] for value in distinct}
    return np.fromiter((codes[value] for value in values), dtype=np.int64, count=len(values)), scale


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
