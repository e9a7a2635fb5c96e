"""Two people and the items they share: how far they agree, and where they do not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from annotation.domain.agreement import agreement_of
from annotation.selectors.agreement import parts
from annotation.selectors.dimensions import Dimension
from eqstudio.estimates import Estimate


class Cell(NamedTuple):
    """``shared`` items both rated, ``differ`` of them with different values."""

    estimate: Estimate
    shared: int
    differ: int


def pair_cells(
    dimension: Dimension, name: str, *, most: int
) -> tuple[list[tuple[int, str]], dict[tuple[int, int], Cell]]:
    """The ``most`` busiest raters by name, with their codes, and one cell for each two who share items, in both orders."""
    codes, given = np.unique(dimension.rater, return_counts=True)
    busiest = codes[np.argsort(-given, kind="stable")[:most]].tolist()
    names = sorted(((code, dimension.raters[code]) for code in busiest), key=lambda pair: pair[1])
    cells: dict[tuple[int, int], Cell] = {}
    for part in parts(dimension.where(np.isin(dimension.rater, busiest)), "pair"):
        found = agreement_of(part.table, level=dimension.level, clusters=part.clusters, names=[name])
        differ = int((part.table.matrix[:, 0] != part.table.matrix[:, 1]).sum())
        cell = Cell(found.estimates[name], len(part.table.items), differ)
        cells[part.key[0], part.key[1]] = cells[part.key[1], part.key[0]] = cell
    return names, cells


def differing(dimension: Dimension, first: int, second: int) -> list[tuple[int, int, Any, Any]]:
    """Items on which two raters differ, widest first: code of the item, of its dialogue, and what each said."""
    sides = []
    for code in (first, second):
        rows = np.nonzero(dimension.rater == code)[0]
        sides.append(rows[np.argsort(dimension.item[rows], kind="stable")])
    items, left, right = np.intersect1d(
        dimension.item[sides[0]], dimension.item[sides[1]], assume_unique=True, return_indices=True
    )
    a, b = dimension.value[sides[0][left]], dimension.value[sides[1][right]]
    groups = dimension.group[sides[0][left]]
    order = np.lexsort((items, -np.abs(a - b)))
    return [
        (int(items[place]), int(groups[place]), dimension.domain[int(a[place])], dimension.domain[int(b[place])])
        for place in order.tolist()
        if a[place] != b[place]
    ]
