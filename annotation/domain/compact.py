"""Ratings of very many items, held in about twenty bytes each until it is known which of the items count."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from annotation.domain.bootstrap import Ints
from annotation.domain.ratings import Coded, Codes, Value, coded_arrays


class Counted(NamedTuple):
    """A table whose rows are rated units, and the number 0..G-1 of the item that each of them belongs to."""

    table: Coded
    clusters: Ints


class CompactRatings:
    """What was said of items, each known by a number and rated in one or several units (its renditions, or itself)."""

    def __init__(self, domain: Sequence[Value]) -> None:
        self._domain = tuple(domain)
        self._code = {value: code for code, value in enumerate(self._domain)}
        self._items, self._units, self._raters, self._values = array("q"), array("q"), array("q"), array("b")
        self._next = 0

    def __len__(self) -> int:
        return len(self._values)

    def add(self, item: int, units: Iterable[Sequence[tuple[int, Value]]]) -> None:
        """One item whole: for each of its units who gave which value. Of two values of one rater the last counts."""
        for unit in units:
            for rater, value in unit:
                self._items.append(item)
                self._units.append(self._next)
                self._raters.append(rater)
                self._values.append(self._code[value])
            self._next += 1

    def table(self, items: Sequence[int]) -> Counted:
        """The ratings of these items, in this order: an interval that is resampled depends on it."""
        wanted = np.asarray(items, dtype=np.int64)
        by_name = np.argsort(wanted)
        given = np.frombuffer(self._items, dtype=np.int64)
        rank = np.searchsorted(wanted[by_name], given).astype(np.int32)
        np.minimum(rank, max(len(wanted) - 1, 0), out=rank)
        rank = by_name.astype(np.int32)[rank] if len(wanted) else rank
        kept = np.nonzero(wanted[rank] == given)[0] if len(wanted) else np.zeros(0, dtype=np.int64)
        kept = kept[np.argsort(rank[kept], kind="stable")]
        units, first = _numbered(np.frombuffer(self._units, dtype=np.int64)[kept])
        said_by = np.frombuffer(self._raters, dtype=np.int64)[kept]
        raters = np.unique(said_by)
        table = coded_arrays(
            item=units,
            rater=np.searchsorted(raters, said_by),
            value=np.frombuffer(self._values, dtype=np.int8)[kept],
            domain=self._domain,
            items=range(len(first)),
            raters=raters.tolist(),
            ordered=True,
        )
        return Counted(table, _numbered(rank[kept])[0][first])


def _numbered(names: Codes) -> tuple[Ints, Ints]:
    """Names that stand in runs as numbers in the order of the runs, and where each run begins."""
    begins = np.ones(len(names), dtype=bool)
    begins[1:] = names[1:] != names[:-1]
    return np.cumsum(begins) - 1, np.nonzero(begins)[0]
