"""The judgements of a round as arrays, kept by each process and brought up to date by what is new.

A figure at 100,000 judgements has to follow a submit within a second, so they are read once and then only what came since.
What was read is proved complete on every look, by the number of rows, the last of them, and the sum over the leases that
count: a transaction that commits after one with a higher id, a lease that changes its state without a row, or a row that
was rolled back and its id given to another, all change one of the three, and then everything is read again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Case, Count, F, Max, QuerySet, Sum, When
from numpy.typing import NDArray

from annotation.domain.bootstrap import Ints
from annotation.models import Assignment, Grade, Judgement, Kind, Round, Standing

ROUNDS_KEPT = 16
WINDOW = 2_000
"""So many ids below the last are read again: a transaction that began early may commit late."""
_CHUNK = 20_000
_FEW = 5_000
_ATTEMPTS = 2
"""Under many submits at once, a lease may change between the look and the reading of rows."""
VERDICTS = tuple(Judgement.Verdict.values)


class Seen(NamedTuple):
    """What a round held when it was looked at. Equal means that nothing has changed."""

    rows: int
    last: int
    last_uid: str
    leases: int
    standings: int
    last_standing: int


@dataclass
class Arrays:
    """Every judgement of kind work, in order of its id, and every grade; ``live`` marks those that count.

    ``verdict`` is a place in VERDICTS or -1; ``at`` is in seconds since 1970. ``grades`` has the columns judgement
    (place in these arrays), variant, value.
    """

    pk: Ints
    assignment: Ints
    item: Ints
    annotator: Ints
    revision: Ints
    at: Ints
    verdict: Ints
    retracted: NDArray[np.bool_]
    named: Ints
    grades: Ints
    seen: Seen
    submitted: set[int] = field(default_factory=set)
    unusable: set[int] = field(default_factory=set)
    live: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    results: dict[Any, Any] = field(default_factory=dict)
    """Figures computed from these arrays, by whatever names them."""


_kept: OrderedDict[str, Arrays] = OrderedDict()
_lock = threading.Lock()


def round_arrays(*, round: Round) -> Arrays:  # noqa: A002 -- the word of the domain
    """The arrays of a round as it is now. Three queries when nothing has changed."""
    with _lock:
        kept = _current(_kept.get(round.uid), round)
        _kept[round.uid] = kept
        _kept.move_to_end(round.uid)
        while len(_kept) > ROUNDS_KEPT:
            _kept.popitem(last=False)
        return kept


def _current(kept: Arrays | None, round_: Round) -> Arrays:
    now = _look(round_)
    if kept is None:
        return _read(round_, now)
    for _attempt in range(_ATTEMPTS):
        if kept.seen == now:
            return kept
        extended = _extended(kept, round_, now)
        if extended is not None:
            return extended
        now = _look(round_)
    return _read(round_, now)


def round_arrays_fresh(*, round: Round) -> Arrays:  # noqa: A002
    """The same, read whole and not kept."""
    return _read(round, _look(round))


def _work(round_: Round) -> QuerySet[Judgement]:
    return Judgement.objects.filter(item__round=round_, assignment__kind=Kind.WORK).order_by()


def _look(round_: Round) -> Seen:
    work = _work(round_)
    counting = Case(When(assignment__state=Assignment.State.SUBMITTED, then=F("assignment_id")), default=0)
    counted = work.aggregate(count=Count("pk"), leases=Sum(counting))
    last = work.order_by("-pk").values_list("pk", "uid").first() or (0, "")
    standings = Standing.objects.filter(judgement__item__round=round_).aggregate(n=Count("pk"), last=Max("pk"))
    return Seen(
        rows=counted["count"],
        last=last[0],
        last_uid=last[1],
        leases=counted["leases"] or 0,
        standings=standings["n"],
        last_standing=standings["last"] or 0,
    )


def _rows(found: QuerySet[Judgement]) -> list[tuple[Any, ...]]:
    columns = ("pk", "assignment_id", "item_id", "annotator_id", "revision", "created", "verdict", "retracted", "uid")
    rows = found.order_by("pk").values_list(*columns, "assignment__state")
    return list(rows.iterator(chunk_size=_CHUNK))


def _table(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    places = {name: place for place, name in enumerate(VERDICTS)}
    columns = list(zip(*rows, strict=True)) if rows else [()] * 10
    pk, assignment, item, annotator, revision, created, verdict, retracted, uid, _state = columns
    return {
        "pk": np.asarray(pk, dtype=np.int64),
        "assignment": np.asarray(assignment, dtype=np.int64),
        "item": np.asarray(item, dtype=np.int64),
        "annotator": np.asarray(annotator, dtype=np.int64),
        "revision": np.asarray(revision, dtype=np.int64),
        "at": np.fromiter((int(when.timestamp()) for when in created), dtype=np.int64, count=len(rows)),
        "verdict": np.fromiter((places.get(word, -1) for word in verdict), dtype=np.int64, count=len(rows)),
        "retracted": np.asarray(retracted, dtype=bool),
        "named": np.fromiter((hash(word) for word in uid), dtype=np.int64, count=len(rows)),
    }


def _read(round_: Round, now: Seen) -> Arrays:
    rows = _rows(_work(round_).filter(pk__lte=now.last))
    table = _table(rows)
    grades = Grade.objects.filter(judgement__item__round=round_, judgement__assignment__kind=Kind.WORK).order_by()
    submitted = {row[1] for row in rows if row[9] == Assignment.State.SUBMITTED}
    made = Arrays(**table, grades=_grades(grades, table["pk"]), seen=now, submitted=submitted)
    made.unusable = _unusable(round_)
    return _settled(made, now)


def _grades(found: QuerySet[Grade], pks: Ints) -> Ints:
    rows = list(found.values_list("judgement_id", "variant_id", "value").iterator(chunk_size=_CHUNK))
    if not rows or not len(pks):
        return np.zeros((0, 3), dtype=np.int64)
    table = np.asarray(rows, dtype=np.int64)
    place = np.minimum(np.searchsorted(pks, table[:, 0]), len(pks) - 1)
    known = pks[place] == table[:, 0]
    table[:, 0] = place
    chosen: Ints = table[known]
    return chosen


def _unusable(round_: Round) -> set[int]:
    rows = Standing.objects.filter(judgement__item__round=round_).order_by("pk")
    latest = dict(rows.values_list("judgement_id", "usable"))
    return {judgement for judgement, usable in latest.items() if not usable}


def _extended(kept: Arrays, round_: Round, now: Seen) -> Arrays | None:
    """``kept`` with what is new; None when that does not add up to ``now``."""
    floor = int(kept.pk[-1]) - WINDOW if len(kept.pk) else 0
    rows = _rows(_work(round_).filter(pk__gt=floor, pk__lte=now.last))
    known = dict(zip(kept.pk[kept.pk > floor].tolist(), kept.named[kept.pk > floor].tolist(), strict=True))
    if any(row[0] in known and known[row[0]] != hash(row[8]) for row in rows):
        return None
    new = [row for row in rows if row[0] not in known]
    count = len(kept.pk) + len(new)
    if count < now.rows or len(new) > _FEW:
        return None
    made = _joined(kept, new) if new else replace(kept)
    made.submitted = kept.submitted - {row[1] for row in rows}
    made.submitted |= {row[1] for row in rows if row[9] == Assignment.State.SUBMITTED}
    if (now.standings, now.last_standing) != (kept.seen.standings, kept.seen.last_standing):
        made.unusable = _unusable(round_)
    return _settled(made, now._replace(rows=count)) if _leases(made) == now.leases else None


def _joined(kept: Arrays, new: list[tuple[Any, ...]]) -> Arrays:
    table = _table(new)
    columns: dict[str, Any] = {name: np.concatenate([getattr(kept, name), part]) for name, part in table.items()}
    order = np.argsort(columns["pk"], kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    columns = {name: part[order] for name, part in columns.items()}
    grades = kept.grades.copy()
    grades[:, 0] = place[grades[:, 0]]
    added = _grades(Grade.objects.filter(judgement__in=table["pk"].tolist()), columns["pk"])
    return Arrays(**columns, grades=np.concatenate([grades, added]), seen=kept.seen, unusable=kept.unusable)


def _leases(arrays: Arrays) -> int:
    """The sum that ``_look`` asks the database for: over judgements, the id of their lease where that counts."""
    counts = np.isin(arrays.assignment, np.fromiter(arrays.submitted, dtype=np.int64, count=len(arrays.submitted)))
    return int(arrays.assignment[counts].sum())


def _settled(arrays: Arrays, now: Seen) -> Arrays:
    """Mark what counts: as ``live_judgements`` does, the last word on a submitted lease that is usable."""
    order = np.lexsort((arrays.revision, arrays.assignment))
    last = np.zeros(len(arrays.pk), dtype=bool)
    if len(order):
        ends = np.append(arrays.assignment[order][1:] != arrays.assignment[order][:-1], True)
        last[order[ends]] = True
    submitted = np.fromiter(arrays.submitted, dtype=np.int64, count=len(arrays.submitted))
    unusable = np.fromiter(arrays.unusable, dtype=np.int64, count=len(arrays.unusable))
    arrays.live = last & ~arrays.retracted & np.isin(arrays.assignment, submitted) & ~np.isin(arrays.pk, unusable)
    arrays.seen = now
    arrays.results = {}
    return arrays
