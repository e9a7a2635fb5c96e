"""One's own judgements, as the page My judgements lists them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Assignment, Judgement
from annotation.views.judging import graded_positions, letters_of, ui_text, undo_until
from eqstudio.benchmarks import benchmark_get
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState


@dataclass(frozen=True)
class HistoryRow:
    """A judgement with its grades by the letters they were given under."""

    judgement: Judgement
    category: str
    grades: list[tuple[str, int]]
    reasons: list[str]
    taken_back: bool
    counts: bool
    can_change: bool


def judgements_of(user: User) -> QuerySet[Judgement]:
    """A person's judgements, newest first, with whether a later one took their place. Constant in queries."""
    later = Judgement.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    return (
        Judgement.objects.filter(annotator=user, retracted=False)
        .annotate(replaced=Exists(later))
        .select_related("item__round", "item__dialogue", "assignment")
        .prefetch_related("grades__variant", "item__dialogue__turns")
        .order_by("-pk")
    )


def history_rows(judgements: Iterable[Judgement], *, now: datetime) -> list[HistoryRow]:
    return [_row(judgement, now) for judgement in judgements]


def _row(judgement: Judgement, now: datetime) -> HistoryRow:
    dialogue = judgement.item.dialogue
    benchmark = benchmark_get(dialogue.benchmark)
    letters = letters_of(judgement.assignment.shown, graded_positions(dialogue))
    replaced: bool = judgement.replaced  # type: ignore[attr-defined]
    in_time = now <= undo_until(judgement, judgement.item.round)
    labels = {reason.code: ui_text(reason.label) for reason in benchmark.review_form.reasons}
    return HistoryRow(
        judgement=judgement,
        category=ui_text(benchmark.category(dialogue.category).label),
        grades=sorted((letters.get(grade.variant.uid, "?"), grade.value) for grade in judgement.grades.all()),
        reasons=[labels.get(code, code) for code in judgement.reasons],
        taken_back=replaced,
        counts=not replaced and judgement.assignment.state == Assignment.State.SUBMITTED,
        can_change=in_time and not replaced and dialogue.state != DialogueState.FROZEN.value,
    )
