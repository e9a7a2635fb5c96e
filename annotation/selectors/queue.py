"""What a person's queue in a round looks like right now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, Kind, Participation, Round
from annotation.selectors.candidates import barred_items, candidates
from eqstudio.errors import NotFound
from eqstudio.models import User
from eqstudio.prepared import Prepared

State = Assignment.State
RESERVED_LOOKED_AT = 200
_OPENING = {Participation.State.TRAINING: "training", Participation.State.QUALIFYING: "qualifying"}
_PLACE = Prepared[Participation](
    lambda within, person: Participation.objects.filter(round_id=within, annotator_id=person).order_by()
)
_PLACES = Prepared[Participation](
    lambda within, day, person: Participation.objects.filter(
        Q(round_id=within) | Q(day=day), annotator_id=person
    ).order_by("pk")
)
_LEASE = Prepared[Assignment](
    lambda person, within, uid: (
        Assignment.objects.select_related("item").filter(annotator_id=person, item__round_id=within, uid=uid).order_by()
    )
)
_STOPPED = {Participation.State.PAUSED: "person_paused", Participation.State.NOT_QUALIFIED: "not_qualified"}


@dataclass(frozen=True)
class Obstacle:
    """Why a person gets nothing new: a kind of QueueState with what belongs to it."""

    kind: str
    until: datetime | None = None
    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class QueueState:
    """``kind`` is work, training or qualifying (there is something to do), reserved (others hold what is left, or the
    person has just skipped it; ``until`` the first of it may be free), done, paused (``reason`` as the researcher gave
    it), closed, not_open (``until``), limit_person, limit_day (``until`` local midnight), sitting_break (``until``),
    person_paused (``reason``, ``evidence``), not_qualified, or not_eligible (``reason`` skill, language or invited;
    ``evidence`` names what is missing).

    ``done_by_me``, ``total`` and ``today`` (in all rounds, since local midnight) count everything but training, so that
    they tell nothing of an item's kind.
    """

    kind: str
    until: datetime | None
    done_by_me: int
    total: int
    today: int
    reason: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)


def participation_find(*, round: Round, annotator: User) -> Participation | None:  # noqa: A002 -- the word of the domain
    """The person's place in the round, if they have one yet."""
    return _PLACE.first(within=round.pk, person=annotator.pk)


def places_of(*, round: Round, annotator: User, now: datetime) -> list[Participation]:  # noqa: A002
    """The person's place in the round, if they have one yet, and in every other in which they have answered today."""
    return _PLACES.rows(within=round.pk, day=timezone.localdate(now), person=annotator.pk)


def place_in(places: Iterable[Participation], round: Round) -> Participation | None:  # noqa: A002
    """Of these the place in the round."""
    return next((place for place in places if place.round_id == round.pk), None)


def lease_of(*, round: Round, annotator: User, uid: str) -> Assignment:  # noqa: A002
    """The person's own lease in a round that they may judge in, with their item. NotFound for any other. One query."""
    found = _LEASE.first(person=annotator.pk, within=round.pk, uid=uid)
    if found is None:
        raise NotFound(_("There is no such item in this round."))
    found.annotator, found.item.round = annotator, round
    return found


def queue_state(
    *,
    round: Round,  # noqa: A002
    annotator: User,
    now: datetime,
    lease: Assignment | None = None,
    places: Sequence[Participation] | None = None,
) -> QueueState:
    """How the round stands for one person; leases that are over count as free. A handful of queries, whatever its size.

    A caller that has the person's lease or ``places_of`` hands them in, and they are not looked for.
    """
    known = places_of(round=round, annotator=annotator, now=now) if places is None else places
    found = place_in(known, round)
    stand = found or Participation(round=round, annotator=annotator)
    obstacle = obstacle_of(round=round, annotator=annotator, participation=found, now=now)
    if obstacle is None and lease is None and not _holds(round, annotator, now):
        obstacle = _nothing_left(round, annotator, stand, now)
    told = obstacle or Obstacle(_OPENING.get(Participation.State(stand.state), "work"))
    today = timezone.localdate(now)
    return QueueState(
        kind=told.kind,
        until=told.until,
        reason=told.reason,
        evidence=told.evidence,
        done_by_me=stand.answered,
        total=max(round.items_total, stand.answered),
        today=max(0, sum(place.day_done for place in known if place.day == today) - _taken_back(lease, now)),
    )


def _taken_back(lease: Assignment | None, now: datetime) -> int:
    """1 when the lease in hand was answered today and the answer taken back: it stays counted in the person's place, so
    that it is not counted twice. No query for a lease on which nothing has been filled in.
    """
    if lease is None or not lease.draft or lease.kind == Kind.TRAINING:
        return 0
    return int(lease.judgements.filter(created__gte=_midnight_after(now) - timedelta(days=1)).exists())


def obstacle_of(
    *,
    round: Round,  # noqa: A002 -- the word of the domain
    annotator: User,
    participation: Participation | None,
    now: datetime,
) -> Obstacle | None:
    """What keeps a person from being given anything new in a round, whatever is left in it; None when nothing does.

    No query. Someone without a place in the round (``participation`` None) is new to it.
    """
    return (
        _of_round(round, now)
        or _of_person(round, annotator, participation)
        or (None if participation is None else _of_limits(round, participation, now))
    )


def _of_round(round_: Round, now: datetime) -> Obstacle | None:
    if round_.state == Round.State.PAUSED:
        return Obstacle("paused", reason=round_.paused_because)
    if round_.state == Round.State.CLOSED or (round_.closes_at and round_.closes_at <= now):
        return Obstacle("closed")
    if round_.opens_at and round_.opens_at > now:
        return Obstacle("not_open", until=round_.opens_at)
    return None


def _of_person(round_: Round, annotator: User, participation: Participation | None) -> Obstacle | None:
    if participation is None and round_.invited_only:
        return Obstacle("not_eligible", reason="invited")
    missing = sorted(set(round_.skills_needed) - set(annotator.skills))
    if missing:
        return Obstacle("not_eligible", reason="skill", evidence={"skills": missing})
    speaks = not round_.language or round_.language in annotator.speaks
    if round_.language_needed and not (annotator.speaks and speaks):
        return Obstacle("not_eligible", reason="language", evidence={"language": round_.language})
    kind = None if participation is None else _STOPPED.get(Participation.State(participation.state))
    if participation is None or kind is None:
        return None
    return Obstacle(kind, reason=participation.reason, evidence=participation.evidence)


def _of_limits(round_: Round, stand: Participation, now: datetime) -> Obstacle | None:
    if round_.items_per_person is not None and stand.done >= round_.items_per_person:
        return Obstacle("limit_person")
    today = stand.day == timezone.localdate(now)
    if round_.items_per_day is not None and today and stand.day_done >= round_.items_per_day:
        return Obstacle("limit_day", until=_midnight_after(now))
    pause = timedelta(minutes=round_.sitting_break_minutes)
    full = round_.items_per_sitting is not None and stand.sitting_done >= round_.items_per_sitting
    if full and stand.last_at is not None and now < stand.last_at + pause:
        return Obstacle("sitting_break", until=stand.last_at + pause)
    return None


def _midnight_after(now: datetime) -> datetime:
    tomorrow = timezone.localdate(now) + timedelta(days=1)
    return timezone.make_aware(datetime(tomorrow.year, tomorrow.month, tomorrow.day))  # noqa: DTZ001 -- made aware here


def _holds(round_: Round, annotator: User, now: datetime) -> bool:
    mine = Assignment.objects.filter(annotator=annotator, state=State.ACTIVE, lease_until__gt=now)
    return mine.filter(item__round=round_).exists()


def _nothing_left(round_: Round, annotator: User, stand: Participation, now: datetime) -> Obstacle | None:
    """None when there is an item to give; else reserved or done."""
    if stand.state in _OPENING:
        return None
    if next(candidates(round=round_, annotator=annotator, participation=stand, now=now), None) is not None:
        return None
    times = [*_freed_by_others(round_, annotator, now), *_back_again(round_, annotator, now)]
    if not times:
        return Obstacle("done")
    return None if min(times) <= now else Obstacle("reserved", until=min(times))


def _freed_by_others(round_: Round, annotator: User, now: datetime) -> Iterator[datetime]:
    """When the leases of others end on items that the person could have."""
    leases = Assignment.objects.filter(item__round=round_, item__closed_at=None, kind=Kind.WORK, state=State.ACTIVE)
    if round_.exclude_authors:
        leases = leases.exclude(item__author=annotator)
    if round_.language_needed:
        leases = leases.filter(item__language__in=annotator.speaks)
    rows = dict(
        leases.exclude(annotator=annotator)
        .order_by("-lease_until")
        .values_list("item_id", "lease_until")[:RESERVED_LOOKED_AT]
    )
    barred = barred_items(round=round_, annotator=annotator, items=list(rows), now=now)
    return (until for item, until in rows.items() if item not in barred)


def _back_again(round_: Round, annotator: User, now: datetime) -> Iterator[datetime]:
    """When what the person has skipped for themselves comes back."""
    cool_down = timedelta(minutes=round_.lease_minutes)
    skipped = Assignment.objects.filter(
        annotator=annotator,
        state=State.RELEASED,
        ended_at__gt=now - cool_down,
        item__round=round_,
        item__closed_at=None,
    ).exclude(skip__in=[Assignment.Skip.OTHERS, Assignment.Skip.UNJUDGEABLE])
    return (ended + cool_down for ended in skipped.values_list("ended_at", flat=True) if ended is not None)
