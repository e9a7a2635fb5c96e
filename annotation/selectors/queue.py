"""What a person's queue in a round looks like right now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q
from django.utils import timezone

from annotation.models import Assignment, Round, RoundItem
from eqstudio.models import User

State = Assignment.State


@dataclass(frozen=True)
class QueueState:
    """``kind`` is work, reserved (others hold what is left, ``until`` the first of them may be free), done, paused or
    closed. ``today`` counts in all rounds, since local midnight.
    """

    kind: str
    until: datetime | None
    done_by_me: int
    total: int
    today: int


def queue_state(*, round: Round, annotator: User, now: datetime) -> QueueState:  # noqa: A002 -- the word of the domain
    """How the round stands for one person; leases that are over count as free. A handful of queries."""
    mine = Assignment.objects.filter(annotator=annotator)
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    kind, until = _kind(round, annotator, now)
    return QueueState(
        kind=kind,
        until=until,
        done_by_me=mine.filter(item__round=round, state__in=[State.SUBMITTED, State.LATE]).count(),
        total=round.items.count(),
        today=mine.filter(state__in=[State.SUBMITTED, State.LATE], ended_at__gte=midnight).count(),
    )


def _kind(round_: Round, annotator: User, now: datetime) -> tuple[str, datetime | None]:
    if round_.state != Round.State.OPEN:
        return round_.state, None
    mine = Assignment.objects.filter(annotator=annotator, item__round=round_)
    if mine.filter(state=State.ACTIVE, lease_until__gt=now).exists():
        return "work", None
    answered = mine.filter(state__in=[State.SUBMITTED, State.LATE]).values("item_id")
    cool_down = timedelta(minutes=round_.lease_minutes)
    skipped = mine.filter(state=State.RELEASED, ended_at__gt=now - cool_down)
    leased = Q(assignments__state=State.ACTIVE, assignments__lease_until__gt=now)
    left = RoundItem.objects.filter(round=round_, closed_at=None).exclude(pk__in=answered)
    left = left.annotate(taken=Count("assignments", filter=leased | Q(assignments__state=State.SUBMITTED)))
    if left.filter(taken__lt=round_.people_per_item).exclude(pk__in=skipped.values("item_id")).exists():
        return "work", None
    open_again = [
        Assignment.objects.filter(item__in=left, state=State.ACTIVE, lease_until__gt=now).aggregate(
            at=Min("lease_until")
        )["at"],
        _plus(skipped.filter(item__closed_at=None).aggregate(at=Min("ended_at"))["at"], cool_down),
    ]
    times = [at for at in open_again if at is not None]
    return ("reserved", min(times)) if times else ("done", None)


def _plus(at: datetime | None, length: timedelta) -> datetime | None:
    return None if at is None else at + length
