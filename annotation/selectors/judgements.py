"""Judgements that count, and what has to be heard before one may be given."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Adjudication, Assignment, Judgement, Kind, Round, RoundItem, Standing
from eqstudio.benchmarks import benchmark_get
from eqstudio.prepared import Prepared
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


class Tally(NamedTuple):
    """The verdicts of one item that count, oldest first, its leases of kind work (submitted, and held altogether), whether
    an expert has ever had a say in it, and whether its round is closed.
    """

    votes: list[str]
    submitted: int
    held: int
    adjudicated: bool = False
    closed_round: bool = False


def item_tally(*, item: RoundItem) -> Tally:
    """What ``live_judgements`` finds for one item, and how many leases it has. One query over its few rows."""
    states: dict[int, str] = {}
    words: dict[int, tuple[int, int, str]] = {}
    rows = _TALLY.rows(item=item.pk)
    for lease, state, judgement, revision, retracted, verdict, usable, _adjudicated, _round_state in rows:
        states[lease] = state
        if state == Assignment.State.SUBMITTED and judgement is not None:
            latest = words.get(lease)
            if latest is None or revision >= latest[0]:
                words[lease] = (revision, judgement, "" if retracted or usable is False else verdict)
    votes = [verdict for _revision, _pk, verdict in sorted(words.values(), key=itemgetter(1)) if verdict]
    submitted = sum(state == Assignment.State.SUBMITTED for state in states.values())
    adjudicated, closed = any(row[-2] for row in rows), any(row[-1] == Round.State.CLOSED for row in rows)
    return Tally(votes, submitted, len(states), adjudicated, closed)


_TALLY = Prepared[tuple[Any, ...]](
    lambda item: (
        Assignment.objects.filter(item_id=item, kind=Kind.WORK, state__in=Assignment.HOLDING)
        .annotate(adjudicated=Exists(Adjudication.objects.filter(item_id=OuterRef("item_id"))))
        .order_by("judgements__pk", "judgements__standings__pk")
        .values_list(
            "pk",
            "state",
            "judgements__pk",
            "judgements__revision",
            "judgements__retracted",
            "judgements__verdict",
            "judgements__standings__usable",
            "adjudicated",
            "item__round__state",
        )
    )
)


class RequiredClip(NamedTuple):
    """A variant whose clip has to be heard; ``graded`` ones also get a grade."""

    uid: str
    pk: int
    duration: float
    graded: bool


def required_clips(*, dialogue: Dialogue) -> list[RequiredClip]:
    """Every voiced variant of a dialogue, context and graded alike, in order. One query."""
    roles = benchmark_get(dialogue.benchmark).review_form.graded_roles
    return [
        RequiredClip(uid=uid, pk=pk, duration=duration, graded=role in roles)
        for uid, pk, duration, role in _REQUIRED.rows(dialogue=dialogue.pk)
    ]


_REQUIRED = Prepared[tuple[str, int, float, str]](
    lambda dialogue: (
        Variant.objects.filter(turn__dialogue_id=dialogue, clip__isnull=False)
        .order_by("turn__position", "pk")
        .values_list("uid", "pk", "clip__duration", "turn__role")
    )
)
