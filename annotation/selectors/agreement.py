"""The agreement of a round, whole and in groups: the one function behind pages, API, exports and the command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet

from annotation.domain.agreement import NAMES, agreement_of
from annotation.domain.bootstrap import REPLICATES, Ints
from annotation.domain.ratings import MISSING, Coded
from annotation.models import Round, RoundItem, Split
from annotation.selectors.coded import round_arrays
from annotation.selectors.dimensions import GRADE, UNKNOWN, VERDICT, Dimension, round_dimensions
from annotation.selectors.imported import imported_stamp
from eqstudio.errors import UnknownAlias

__all__ = ["BY", "GRADE", "VERDICT", "Dimension", "agreement_groups", "disputed_items", "round_agreement"]

PAIR = 2


class Part(NamedTuple):
    """A group: what it is called, its ratings, and the number of every item's dialogue where items share dialogues."""

    label: str
    table: Coded
    clusters: Ints | None
    key: tuple[int, ...] = ()
    """Codes of the raters whom the group is about."""


def round_agreement(
    *,
    round: Round,  # noqa: A002
    by: str | None = None,
    names: Sequence[str] = NAMES,
    split: Split | None = None,
) -> list[dict[str, Any]]:
    """The groups of ``agreement --json``: one per question asked, split further ``by`` a name in BY.

    ``by`` in a group is the name of the group, ``dimension`` the question. Grades are resampled by dialogue. By annotator,
    a person's rating is held against each other person's on the same item; ``without`` leaves one person out; by day and
    week an item belongs to the day of its latest rating. Machine raters are left out of all but ``annotator``, ``pair``
    and ``kind``. With a ``split``, over what the round's people said of its items. Figures are kept for as long as nothing
    changes.
    """
    arrays = round_arrays(round=round)
    imported = imported_stamp(round=round)
    marked = tuple(round.machine_raters.order_by("pk").values_list("pk", flat=True))
    key = ("agreement", by, tuple(names), split and split.pk, imported, marked)
    if key not in arrays.results:
        dimensions = round_dimensions(round=round, split=split, arrays=arrays)
        arrays.results[key] = agreement_groups(dimensions, by=by, names=names)
    found: list[dict[str, Any]] = arrays.results[key]
    return found


def agreement_groups(
    dimensions: Iterable[Dimension],
    *,
    by: str | None = None,
    names: Sequence[str] = NAMES,
    replicates: int = REPLICATES,
) -> list[dict[str, Any]]:
    """``round_agreement`` for dimensions that were read already."""
    if by not in (None, *BY):
        raise UnknownAlias(kind="grouping", alias=str(by), known=sorted(BY))
    return [
        {"by": part.label, "dimension": dimension.name, **_figures(dimension, part, names, replicates)}
        for dimension in dimensions
        for part in parts(dimension, by)
    ]


def _figures(dimension: Dimension, part: Part, names: Sequence[str], replicates: int) -> dict[str, Any]:
    found = agreement_of(part.table, level=dimension.level, clusters=part.clusters, names=names, replicates=replicates)
    return found.as_dict()


def parts(dimension: Dimension, by: str | None) -> Iterator[Part]:
    """The groups of one question."""
    if by is None:
        yield Part(dimension.name, *dimension.people().table())
    else:
        yield from BY[by](dimension)


def _by_codes(dimension: Dimension, codes: Ints, label: Callable[[int], str]) -> Iterator[Part]:
    labelled = sorted((label(int(code)), int(code)) for code in np.unique(codes))
    for name, code in labelled:
        yield Part(name, *dimension.where(codes == code).table())


def _whole(dimension: Dimension) -> Iterator[Part]:
    yield from parts(dimension, None)


def _by_category(dimension: Dimension) -> Iterator[Part]:
    people = dimension.people()
    return _by_codes(people, people.category, lambda code: people.categories[code] or UNKNOWN)


def _by_language(dimension: Dimension) -> Iterator[Part]:
    people = dimension.people()
    return _by_codes(people, people.language, lambda code: people.languages[code] or UNKNOWN)


def latest_day(dimension: Dimension) -> Ints:
    """For every rating, the day of the latest rating of its item."""
    items, item = np.unique(dimension.item, return_inverse=True)
    latest = np.zeros(len(items), dtype=np.int64)
    np.maximum.at(latest, item.reshape(-1), dimension.day)
    return latest[item.reshape(-1)]


def week_of(day: Ints) -> Ints:
    """Ordinal of the Monday of each day's week; 0 stays 0."""
    return np.where(day > 0, day - (day - 1) % 7, 0)


def day_label(code: int) -> str:
    return date.fromordinal(code).isoformat() if code else UNKNOWN


def week_label(code: int) -> str:
    """The ISO week, as 2026-W48."""
    return date.fromordinal(code).strftime("%G-W%V") if code else UNKNOWN


def _by_day(dimension: Dimension) -> Iterator[Part]:
    people = dimension.people()
    return _by_codes(people, latest_day(people), day_label)


def _by_week(dimension: Dimension) -> Iterator[Part]:
    people = dimension.people()
    return _by_codes(people, week_of(latest_day(people)), week_label)


def _by_annotator(dimension: Dimension) -> Iterator[Part]:
    """Each rater against each other person on the same item."""
    by_name = sorted((name, code) for code, name in dimension.raters.items())
    people = ~dimension.machine_rows
    for name, code in by_name:
        mine = dimension.rater == code
        if mine.any():
            yield _against(name, code, dimension, mine, people & ~mine)


def _against(label: str, code: int, dimension: Dimension, mine: Any, others: Any) -> Part:
    """One rater in the first column, one other rating of the same item in the second, a row for each other rating."""
    order = np.argsort(dimension.item[mine])
    items, values = dimension.item[mine][order], dimension.value[mine][order]
    rows = np.nonzero(others)[0]
    place = np.minimum(np.searchsorted(items, dimension.item[rows]), len(items) - 1)
    met = items[place] == dimension.item[rows]
    rows, place = rows[met], place[met]
    matrix = np.stack([values[place], dimension.value[rows]], axis=1)
    numbers = dimension.table()[0].numbers
    groups = np.unique(dimension.group[rows], return_inverse=True)[1].reshape(-1)
    table = Coded(matrix, dimension.domain, numbers, range(len(rows)), (label, "others"))
    return Part(label, table, groups if len(rows) else None, (code,))


def _by_pair(dimension: Dimension) -> Iterator[Part]:
    """Every two raters who share items, on those."""
    table, clusters = dimension.table()
    named = sorted((dimension.raters[int(str(code))], place) for place, code in enumerate(table.raters))
    for (first, a), (second, b) in combinations(named, PAIR):
        both = (table.matrix[:, a] != MISSING) & (table.matrix[:, b] != MISSING)
        if not both.any():
            continue
        pair = Coded(
            table.matrix[both][:, [a, b]], table.domain, table.numbers, range(int(both.sum())), (first, second)
        )
        groups = None if clusters is None else np.unique(clusters[both], return_inverse=True)[1].reshape(-1)
        codes = (int(str(table.raters[a])), int(str(table.raters[b])))
        yield Part(f"{first} & {second}", pair, groups, codes)


def _without(dimension: Dimension) -> Iterator[Part]:
    """All people but one: a person whose absence raises the figure lowers it."""
    people = dimension.people()
    for name, code in sorted((name, code) for code, name in people.raters.items()):
        kept = people.rater != code
        if not kept.all():
            yield Part(name, *people.where(kept).table(), (code,))


def _by_kind(dimension: Dimension) -> Iterator[Part]:
    """People among themselves, machines among themselves, and each machine against people."""
    machine = dimension.machine_rows
    if (~machine).any():
        yield Part("people", *dimension.where(~machine).table())
    if not machine.any():
        return
    yield Part("machines", *dimension.where(machine).table())
    for name, code in sorted((dimension.raters[code], code) for code in dimension.machines):
        mine = dimension.rater == code
        if mine.any():
            yield _against(f"{name} with people", code, dimension, mine, ~machine)


BY: dict[str, Callable[[Dimension], Iterator[Part]]] = {
    "annotator": _by_annotator,
    "category": _by_category,
    "day": _by_day,
    "dimension": _whole,
    "kind": _by_kind,
    "language": _by_language,
    "pair": _by_pair,
    "week": _by_week,
    "without": _without,
}


def disputed_items(*, round: Round | None = None) -> QuerySet[RoundItem]:  # noqa: A002
    """Closed items that consensus could not decide and no expert has decided yet, first closed first."""
    waiting = RoundItem.objects.filter(outcome=RoundItem.Outcome.DISPUTED, closed_at__isnull=False)
    if round is not None:
        waiting = waiting.filter(round=round)
    return waiting.select_related("dialogue", "round").order_by("closed_at", "pk")
