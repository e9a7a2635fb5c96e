"""Judgements that count, and what has to be heard before one may be given."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Assignment, Judgement, Kind, Round, RoundItem, Standing
from eqstudio.benchmarks import benchmark_get
from generation.models import Dialogue, Variant


def live_judgements(*, round: Round | None = None, item: RoundItem | None = None) -> QuerySet[Judgement]:  # noqa: A002
    """The judgements that count: the last word on a submitted lease of kind work.

    Retracted, superseded, late and unusable ones, gold, training and repeats are left out.
    """
    later = Judgement.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    unusable = Standing.objects.filter(judgement=OuterRef("pk"), usable=False).exclude(
        Exists(Standing.objects.filter(judgement=OuterRef("judgement"), pk__gt=OuterRef("pk")))
    )
    found = Judgement.objects.filter(
        retracted=False, assignment__state=Assignment.State.SUBMITTED, assignment__kind=Kind.WORK
    ).exclude(Exists(later) | Exists(unusable))
    if round is not None:
        found = found.filter(item__round=round)
    if item is not None:
        found = found.filter(item=item)
    return found


class RequiredClip(NamedTuple):
    """A variant whose clip has to be heard; ``graded`` ones also get a grade."""

    uid: str
    pk: int
    duration: float
    graded: bool


def required_clips(*, dialogue: Dialogue) -> list[RequiredClip]:
    """Every voiced variant of a dialogue, context and graded alike, in order. One query."""
    roles = benchmark_get(dialogue.benchmark).review_form.graded_roles
    rows = (
        Variant.objects.filter(turn__dialogue=dialogue, clip__isnull=False)
        .order_by("turn__position", "pk")
        .values_list("uid", "pk", "clip__duration", "turn__role")
    )
    return [RequiredClip(uid=uid, pk=pk, duration=duration, graded=role in roles) for uid, pk, duration, role in rows]
