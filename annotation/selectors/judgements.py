"""Judgements that count, and what has to be heard before one may be given."""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from django.db.models import Exists, OuterRef, Prefetch, QuerySet, prefetch_related_objects

from annotation.models import Assignment, Judgement, Kind, Round, RoundItem, Standing
from eqstudio.benchmarks import benchmark_get
from generation.models import Dialogue, Rendition, Turn, Variant


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
    """The verdicts of one item that count, oldest first, and its leases of kind work: submitted, and held altogether."""

    votes: list[str]
    submitted: int
    held: int


def item_tally(*, item: RoundItem) -> Tally:
    """What ``live_judgements`` finds for one item, and how many leases it has. One query over its few rows."""
    rows = (
        Assignment.objects.filter(item_id=item.pk, kind=Kind.WORK, state__in=Assignment.HOLDING)
        .order_by("judgements__pk", "judgements__standings__pk")
        .values_list(
            "pk",
            "state",
            "judgements__pk",
            "judgements__revision",
            "judgements__retracted",
            "judgements__verdict",
            "judgements__standings__usable",
        )
    )
    states: dict[int, str] = {}
    words: dict[int, tuple[int, int, str]] = {}
    for lease, state, judgement, revision, retracted, verdict, usable in rows:
        states[lease] = state
        if state == Assignment.State.SUBMITTED and judgement is not None:
            latest = words.get(lease)
            if latest is None or revision >= latest[0]:
                words[lease] = (revision, judgement, "" if retracted or usable is False else verdict)
    votes = [verdict for _revision, _pk, verdict in sorted(words.values(), key=itemgetter(1)) if verdict]
    return Tally(votes, sum(state == Assignment.State.SUBMITTED for state in states.values()), len(states))


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


def turns_of(*, dialogue: Dialogue, renditions: bool = False) -> list[Turn]:
    """The turns of a dialogue in order with what a listener meets of their variants and clips, kept on ``dialogue``.

    Two queries at first, none again; one more for the ``renditions`` of the clips.
    """
    turns = Turn.objects.order_by("position").only("dialogue", "position", "role", "speaker", "speaker_name")
    variants = Variant.objects.order_by("turn", "pk").select_related("clip")
    shown = variants.only("uid", "turn", "text", "clip__uid", "clip__duration", "clip__peaks")
    wanted = [Prefetch("turns", turns), Prefetch("turns__variants", shown)]
    if renditions:
        copies = Rendition.objects.only("clip", "kind", "parameters")
        wanted.append(Prefetch("turns__variants__clip__renditions", copies))
    prefetch_related_objects([dialogue], *wanted)
    return list(dialogue.turns.all())
