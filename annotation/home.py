"""What annotation puts on the shell's pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import (
    Assignment,
    Chore,
    Export,
    Freeze,
    Judgement,
    Participation,
    Round,
    RoundItem,
    SplitAudit,
)
from annotation.quality_words import place_words
from annotation.selectors import disputed_items, queue_state, rounds_open_for
from annotation.selectors.my_work import invitations, stopped_places
from annotation.services import counts_wrong, items_recount
from eqstudio.access import can_annotate, can_curate
from eqstudio.home import Job, KeptCount, Panel, PersonCount
from eqstudio.models import User

ROUNDS_SHOWN = 6
DISPUTES_SHOWN = 5
PACE_OVER = 50
"""A person's pace is the median of this many of their latest judgements."""
_UNDER_WAY = ["waiting", "running"]
"""What a freeze, an export and an audit are called before they end."""
_DONE = [Assignment.State.SUBMITTED.value, Assignment.State.LATE.value]


def panels(user: User, now: datetime) -> Iterator[Panel]:
    """For annotators the rounds that wait and what they did; for researchers coverage and disputes."""
    if can_annotate(user):
        stopped = stopped_places(annotator=user)
        yield from _places_panel(user, stopped)
        yield _rounds_panel(user, now, without=[place.round_id for place in stopped])
        yield _my_day_panel(user, now)
    if can_curate(user):
        yield from _curation_panels()


def _places_panel(user: User, places: Sequence[Participation]) -> Iterator[Panel]:
    """Rounds in which the person is stopped, with the reason in plain words, and those that wait for them to begin."""
    stopped = [(place, words) for place in places if (words := place_words(place))]
    invited = invitations(annotator=user)
    if stopped or invited:
        yield Panel("annotation/home_my_places.html", {"stopped": stopped, "invited": invited}, order=5)


def _rounds_panel(user: User, now: datetime, *, without: Sequence[int]) -> Panel:
    """Rounds that are open to the person, ``without`` those in which they are stopped."""
    rounds = list(rounds_open_for(user).exclude(pk__in=without)[:ROUNDS_SHOWN])
    left = _left_by_round(user, rounds)
    pace = _pace_seconds(user)
    rows: list[dict[str, Any]] = [
        {
            "round": round_,
            "state": queue_state(round=round_, annotator=user, now=now),
            "left": left.get(round_.pk, 0),
            "seconds": round(left.get(round_.pk, 0) * pace) if pace else None,
        }
        for round_ in rounds
    ]
    rows.sort(key=lambda row: row["state"].kind != "work")
    paused = Round.objects.filter(state=Round.State.PAUSED, items__assignments__annotator=user).distinct()
    return Panel("annotation/home_rounds.html", {"rows": rows, "paused": list(paused[:ROUNDS_SHOWN])}, order=10)


def _left_by_round(user: User, rounds: Sequence[Round]) -> dict[int, int]:
    """Items of each round that are open and have no answer of this person."""
    answered = Assignment.objects.filter(annotator=user, state__in=_DONE, item__round__in=rounds).values("item_id")
    open_items = RoundItem.objects.filter(round__in=rounds, closed_at=None).exclude(pk__in=answered)
    return dict(open_items.order_by().values_list("round_id").annotate(n=Count("pk")))


def _pace_seconds(user: User) -> float | None:
    latest = Judgement.objects.filter(annotator=user, retracted=False, active_ms__gt=0).order_by("-pk")
    times = list(latest.values_list("active_ms", flat=True)[:PACE_OVER])
    return median(times) / 1000 if times else None


def _my_day_panel(user: User, now: datetime) -> Panel:
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    mine = Assignment.objects.filter(annotator=user, state__in=_DONE)
    counts = mine.aggregate(
        today=Count("pk", filter=Q(ended_at__gte=midnight)),
        week=Count("pk", filter=Q(ended_at__gte=midnight - timedelta(days=6))),
        all=Count("pk"),
    )
    return Panel("annotation/home_my_day.html", {**counts, "pace": _pace_seconds(user)}, order=20, aside=True)


def _curation_panels() -> Iterator[Panel]:
    rounds = Round.objects.filter(state__in=[Round.State.OPEN, Round.State.PAUSED]).annotate(
        total=Count("items"), closed=Count("items", filter=Q(items__closed_at__isnull=False))
    )
    rows: list[dict[str, Any]] = [
        {"round": row, "closed": row.closed, "total": row.total} for row in rounds[:ROUNDS_SHOWN]
    ]
    if rows:
        yield Panel("annotation/home_coverage.html", {"rows": rows}, order=40, aside=True)
    disputed = disputed_items()
    count = disputed.count()
    if count:
        yield Panel(
            "annotation/home_disputes.html",
            {"count": count, "items": list(disputed[:DISPUTES_SHOWN])},
            order=25,
            aside=True,
        )


_CHORES = {
    Chore.Work.FILL.value: gettext_lazy("Filling round %(name)s"),
    Chore.Work.CLOSE.value: gettext_lazy("Closing round %(name)s"),
    Chore.Work.REOPEN.value: gettext_lazy("Opening round %(name)s again"),
    Chore.Work.SETTLE.value: gettext_lazy("Deciding items of round %(name)s"),
}


def running(now: datetime) -> Iterator[Job]:
    """What is being done to very many items of a round, frozen, exported and audited."""
    for chore in Chore.objects.filter(state__in=_UNDER_WAY).select_related("round")[:ROUNDS_SHOWN]:
        yield Job(
            label=_CHORES[chore.work] % {"name": chore.round.name},
            href=reverse("round", args=[chore.round.uid]),
            done=chore.done,
            total=max(chore.total, 1),
        )
    for freeze in Freeze.objects.filter(state__in=_UNDER_WAY)[:ROUNDS_SHOWN]:
        yield Job(
            label=_("Freezing %(name)s") % {"name": freeze.name},
            href=reverse("freeze", args=[freeze.uid]),
            done=freeze.done,
            total=max(freeze.total, 1),
        )
    for audit in SplitAudit.objects.filter(state__in=_UNDER_WAY).select_related("split").defer("report")[:ROUNDS_SHOWN]:
        yield Job(
            label=_auditing(audit),
            href=reverse("split", args=[audit.split.uid]),
            done=audit.done,
            total=max(audit.total, 1),
            seconds_left=audit.seconds_left(now),
        )
    unfinished = Export.objects.filter(state__in=_UNDER_WAY).select_related("split")
    for export in unfinished[:ROUNDS_SHOWN]:
        yield Job(
            label=_("Exporting %(split)s as %(format)s") % {"split": export.split, "format": export.format},
            href=reverse("split", args=[export.split.uid]),
            done=export.done,
            total=export.split.item_count,
        )


def _auditing(audit: SplitAudit) -> str:
    if not audit.part:
        return _("Auditing %(split)s") % {"split": audit.split}
    return _("Auditing %(split)s: %(part)s") % {"split": audit.split, "part": audit.get_part_display()}


def kept_counts(*, mend: bool) -> Iterator[KeptCount]:
    """Whether the counts that rounds keep are those that their rows give; set right first where that is asked for."""
    for round_ in Round.objects.exclude(state=Round.State.CLOSED).order_by("pk"):
        mended = items_recount(round=round_) if mend else 0
        if mend:
            round_.refresh_from_db(fields=["items_total"])
        yield KeptCount(round_.name, reverse("round", args=[round_.uid]), counts_wrong(round=round_), mended)


def person_counts(people: Sequence[int]) -> Iterator[PersonCount]:
    """How many items each person has judged."""
    done = Assignment.objects.filter(annotator__in=people, state__in=_DONE).order_by()
    yield PersonCount(_("Judgements"), dict(done.values_list("annotator_id").annotate(n=Count("pk"))))
