"""How a person's judgements compare with those of others, where the round shows it and once the item is closed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.db.models import Exists, OuterRef

from annotation.models import Assignment, Judgement, Kind, RoundItem

Verdict = Judgement.Verdict


@dataclass(frozen=True)
class Comparison:
    """What others said of an item. ``grades`` are medians by variant uid."""

    keeps: int
    rejects: int
    grades: dict[str, float]


def comparisons(judgements: Iterable[Judgement], *, now: datetime) -> dict[int, Comparison]:
    """By key of the judgement, for those that may be compared; the others are left out. At most three queries.

    Not while the time to undo runs, so that nobody takes a judgement back after having seen those of others.

    An item that is no work (gold, a repeat) is never closed by consensus; it is shown once as many others have judged it
    as would close one, so that its absence tells nothing. Training shows its own answer instead.
    """
    wanted = [one for one in judgements if one.item.kind != Kind.TRAINING and _shows(one, now)]
    if not wanted:
        return {}
    by_item: dict[int, list[Judgement]] = {}
    for one in _last_words({one.item_id for one in wanted}):
        by_item.setdefault(one.item_id, []).append(one)
    found = {}
    for mine in wanted:
        others = [one for one in by_item.get(mine.item_id, []) if one.annotator_id != mine.annotator_id]
        if _closed(mine.item, len(others)):
            found[mine.pk] = _comparison(others)
    return found


def _shows(judgement: Judgement, now: datetime) -> bool:
    round_ = judgement.item.round
    return round_.show_feedback and now > judgement.created + timedelta(seconds=round_.undo_seconds)


def _last_words(items: set[int]) -> list[Judgement]:
    later = Judgement.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    said = Judgement.objects.filter(item__in=items, retracted=False, assignment__state=Assignment.State.SUBMITTED)
    once = said.exclude(Exists(later)).exclude(assignment__kind=Kind.REPEAT)
    return list(once.prefetch_related("grades__variant"))


def _closed(item: RoundItem, others: int) -> bool:
    if item.kind == Kind.WORK:
        return item.closed_at is not None
    return others + 1 >= item.round.people_per_item


def _comparison(others: list[Judgement]) -> Comparison:
    values: dict[str, list[int]] = {}
    for one in others:
        for grade in one.grades.all():
            values.setdefault(grade.variant.uid, []).append(grade.value)
    keeps = sum(one.verdict == Verdict.KEEP for one in others)
    grades = {uid: float(median(given)) for uid, given in values.items()}
    return Comparison(keeps=keeps, rejects=len(others) - keeps, grades=grades)
