"""Leases: handed out, prolonged, given back and ended."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Case, Count, F, Q, When
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.domain.assignment import cursor_after, shown_order
from annotation.models import Assignment, Kind, Participation, Round, RoundItem
from annotation.selectors.candidates import person_start
from annotation.selectors.lines import spoken_turns
from annotation.selectors.quality import rules_of
from annotation.selectors.queue import obstacle_of, place_in, places_of
from annotation.services.claims import item_claim, place_give, place_take, slot_free, slot_lowest
from annotation.services.items import item_left, item_set_aside
from annotation.services.participations import participation_get, special_next
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from eqstudio.payload import unstorable
from eqstudio.prepared import Prepared, PreparedUpdate, PreparedWrite, row_insert

State, Skip = Assignment.State, Assignment.Skip
DRAFT_LIMIT = 64 * 1024
EXPIRE_CHUNK = 200
UNJUDGEABLE_NEEDS = 2
"""So many people who say that an item cannot be judged set it aside; fewer where fewer were asked."""


_PERSON_LOCKED = Prepared[int](
    lambda person: User.objects.select_for_update(no_key=True).filter(pk=person).values_list("pk", flat=True)
)
_HELD = Prepared[int](
    lambda within, person: (
        Assignment.objects.filter(item__round_id=within, annotator_id=person, state=State.ACTIVE)
        .order_by("pk")
        .values_list("pk", flat=True)[:1]
    )
)
_ITEM = Prepared[RoundItem](lambda item: RoundItem.objects.select_related("dialogue").filter(pk=item).order_by())
_LEASES = Prepared[tuple[int, str, int, dict[str, Any]]](
    lambda item, kind: (
        Assignment.objects.filter(item_id=item, kind=kind)
        .order_by("pk")
        .values_list("annotator_id", "state", "slot", "draft")
    )
)
_MOVE_ON = PreparedUpdate(lambda place, cursor: (Participation.objects.filter(pk=place), {"cursor": cursor}))
_COUNTED = PreparedWrite[Participation](
    lambda within, person, work, shown, today, now, since, step, gold, repeat: (
        Participation.objects.filter(round_id=within, annotator_id=person).exclude(state=Participation.State.INVITED),
        {
            "done": F("done") + work,
            "answered": F("answered") + shown,
            "day_done": Case(When(day=today, then=F("day_done") + shown), default=shown),
            "sitting_done": Case(When(last_at__gt=since, then=F("sitting_done") + shown), default=shown),
            "day": today,
            "last_at": now,
            "since_gold": (F("since_gold") + step) * gold,
            "since_repeat": (F("since_repeat") + step) * repeat,
        },
    )
)


def assignments_expire(*, now: datetime, round: Round | None = None) -> int:  # noqa: A002 -- the word of the domain
    """End every active lease whose time is over and give its place back; drafts stay. Returns how many ended.

    Each in a transaction of its own: the item is locked first, and a lease that was prolonged meanwhile goes on.
    """
    due = Assignment.objects.filter(state=State.ACTIVE, lease_until__lte=now)
    if round is not None:
        due = due.filter(item__round=round)
    ended = 0
    while rows := list(due.order_by("item_id").values_list("pk", "item_id", "kind")[:EXPIRE_CHUNK]):
        before = ended
        for pk, item_id, kind in rows:
            ended += _end(pk, item_id, kind, due=due, state=State.EXPIRED, ended_at=now)
        if ended == before:
            break
    return ended


@transaction.atomic
def _end(pk: int, item_id: int, kind: str, *, due: Any, **values: Any) -> bool:
    """End one lease of ``due`` under the lock of its item; False when it is no longer among them."""
    RoundItem.objects.select_for_update().only("pk").get(pk=item_id)
    changed = due.filter(pk=pk).update(**values)
    if changed and kind == Kind.WORK:
        place_give(item_id=item_id)
        item_left(item_id=item_id, now=values["ended_at"])
    return bool(changed)


class Offer(NamedTuple):
    """What a person gets now: the lease, and their places as ``places_of`` finds them, where they had to be read."""

    lease: Assignment | None
    places: list[Participation] | None = None


def assignment_next(*, round: Round, annotator: User, now: datetime) -> Assignment | None:  # noqa: A002
    """The lease of ``assignment_offer``."""
    return assignment_offer(round=round, annotator=annotator, now=now).lease


def assignment_offer(*, round: Round, annotator: User, now: datetime) -> Offer:  # noqa: A002
    """The person's active lease in this round, or a new one on the item that ranks first; None when there is nothing.

    In one transaction it locks the person's row (two tabs get the same lease), asks whether a training, gold or repeated
    item is due, and else claims a place on an item. Only when nothing is left are leases of others that are over ended, each
    by itself, and the look is repeated. A draft left on the item by the same person comes back with it. Writes no Event:
    the row is the record.
    """
    offer, stuck = _next(round, annotator, now)
    if stuck and assignments_expire(now=now, round=round):
        offer, _stuck = _next(round, annotator, now)
    return offer


@transaction.atomic
def _next(round_: Round, annotator: User, now: datetime) -> tuple[Offer, bool]:
    """The lease; or none, and whether somebody's ended lease could help."""
    _PERSON_LOCKED.rows(person=annotator.pk)
    mine = _active(round_, annotator)
    if mine is not None and mine.lease_until > now:
        return Offer(mine), False
    if mine is not None:
        due = Assignment.objects.filter(state=State.ACTIVE, lease_until__lte=now)
        _end(mine.pk, mine.item_id, mine.kind, due=due, state=State.EXPIRED, ended_at=now)
    places = places_of(round=round_, annotator=annotator, now=now)
    stand = _stand(round_, annotator, places, now)
    if stand is None:
        return Offer(None, places), False
    special = special_next(participation=stand, now=now)
    if special is not None:
        return Offer(_lease_make(round_, annotator, special[0].pk, special[1], now), places), False
    if stand.state != Participation.State.ACTIVE:
        return Offer(None, places), False
    lease = _work_next(round_, annotator, stand, now)
    return Offer(lease, places), lease is None


def _stand(round_: Round, annotator: User, places: list[Participation], now: datetime) -> Participation | None:
    """The person's place in the round, made on first use and then among ``places``; None when something keeps them from
    being given anything.
    """
    stand = place_in(places, round_)
    if obstacle_of(round=round_, annotator=annotator, participation=stand, now=now) is not None:
        return None
    if stand is None or stand.state == Participation.State.INVITED:
        stand = participation_get(round=round_, annotator=annotator)
        places[:] = [place for place in places if place.round_id != round_.pk] + [stand] * (stand.pk is not None)
        if obstacle_of(round=round_, annotator=annotator, participation=stand, now=now) is not None:
            return None
    stand.round, stand.annotator = round_, annotator
    return stand


def _active(round_: Round, annotator: User) -> Assignment | None:
    """The lease that the person holds in the round. Nearly always there is none, so that is asked for first."""
    held = _HELD.first(within=round_.pk, person=annotator.pk)
    if held is None:
        return None
    found = Assignment.objects.select_related("item__dialogue").get(pk=held)
    found.item.round, found.annotator = round_, annotator
    return found


def _work_next(round_: Round, annotator: User, stand: Participation, now: datetime) -> Assignment | None:
    found = item_claim(round=round_, annotator=annotator, participation=stand, now=now)
    if found is None:
        return None
    lease = _lease_make(round_, annotator, found.pk, Kind.WORK, now)
    start = person_start(round=round_, annotator=annotator)
    cursor = cursor_after(round_.order, start=start, place=found.shuffle, pk=found.pk)
    _MOVE_ON.run(place=stand.pk, cursor=cursor)
    return lease


def _lease_make(round_: Round, annotator: User, item_id: int, kind: Kind, now: datetime) -> Assignment:
    """Insert the lease. One of kind work has its place already; the others hold none and are numbered by themselves."""
    item = _ITEM.rows(item=item_id)[0]
    item.round = round_
    slot, draft = _slot_and_draft(item, annotator, kind)
    return row_insert(
        Assignment(
            item=item,
            annotator=annotator,
            kind=kind,
            slot=slot,
            lease_until=now + timedelta(minutes=round_.lease_minutes),
            shown=_shown(round_, annotator, item, kind),
            draft=draft,
        )
    )


def _slot_and_draft(item: RoundItem, annotator: User, kind: Kind) -> tuple[int, dict[str, Any]]:
    """The lowest free slot, and what the person had filled in on this item before. One query."""
    ended = {State.EXPIRED.value, State.RELEASED.value}
    rows = _LEASES.rows(item=item.pk, kind=kind.value)
    held = {slot for _person, state, slot, _draft in rows if state not in ended and state != State.LATE}
    drafts = [draft for person, state, _slot, draft in rows if person == annotator.pk and state in ended and draft]
    return slot_lowest(held) if kind == Kind.WORK else len(rows), drafts[-1] if drafts else {}


def _shown(round_: Round, annotator: User, item: RoundItem, kind: Kind) -> dict[str, list[str]]:
    """A stored order of the person's own; another one when an item is asked again, so that no place is remembered."""
    by_position: dict[int, list[str]] = defaultdict(list)
    for turn in spoken_turns(dialogue=item.dialogue):
        by_position[turn.position] += [variant.uid for variant in turn.variants]
    again = ":again" if kind == Kind.REPEAT else ""
    return shown_order(by_position, seed=f"{round_.seed}:{annotator.uid}:{item.uid}{again}")


@transaction.atomic
def assignment_extend(*, assignment: Assignment, now: datetime) -> Assignment:
    """Prolong a lease by the round's minutes. One that has ended comes back if its item still has a place (a laptop that
    slept) and the person holds nothing else in the round; else Conflict, and then the answer can still be submitted and is
    kept.
    """
    until = now + timedelta(minutes=assignment.item.round.lease_minutes)
    row = Assignment.objects.filter(pk=assignment.pk)
    if not row.filter(state=State.ACTIVE).update(lease_until=until) and not _revive(assignment, until):
        raise Conflict(_("The reservation has ended. Your answer is kept, also when you submit it now."))
    assignment.refresh_from_db(fields=["state", "slot", "lease_until", "ended_at"])
    return assignment


def _revive(assignment: Assignment, until: datetime) -> bool:
    User.objects.select_for_update(no_key=True).only("pk").get(pk=assignment.annotator_id)
    expired = Assignment.objects.filter(pk=assignment.pk, state=State.EXPIRED)
    if _active(assignment.item.round, assignment.annotator) is not None or not expired.exists():
        return False
    work = assignment.kind == Kind.WORK
    if work and not place_take(item_id=assignment.item_id):
        return False
    slot = slot_free(item_id=assignment.item_id) if work else assignment.slot
    if expired.update(state=State.ACTIVE, slot=slot, lease_until=until, ended_at=None):
        return True
    if work:
        place_give(item_id=assignment.item_id)
    return False


@transaction.atomic
def assignment_release(
    *, assignment: Assignment, now: datetime, skip: str = Skip.ME.value, reason: str = ""
) -> Assignment:
    """Give an item back; its place is free at once and the draft stays. Writes one Event; releasing what is no longer
    active changes nothing.

    ``skip`` says where it goes: ``me`` comes back to the person after the length of a lease and behind what they have not
    seen, ``others`` never comes back to them, ``unjudgeable`` neither and needs a reason (InvalidInput). When two people,
    or the only one asked, say that an item cannot be judged, it goes to an expert.
    """
    if skip not in Skip.values:
        raise InvalidInput(_("Say who should have it: me, others, or unjudgeable."), field="skip")
    reason = reason.strip()[:200]
    if skip == Skip.UNJUDGEABLE and not reason:
        raise InvalidInput(_("Say why this cannot be judged."), field="reason")
    active = Assignment.objects.filter(pk=assignment.pk, state=State.ACTIVE)
    values = {"state": State.RELEASED, "ended_at": now, "skip": skip, "reason": reason}
    if _end(assignment.pk, assignment.item_id, assignment.kind, due=active, **values):
        item = assignment.item
        event_record(
            actor=assignment.annotator, verb="released", entity=assignment, item=item.uid, skip=skip, reason=reason
        )
        if skip == Skip.UNJUDGEABLE and assignment.kind == Kind.WORK:
            _set_aside_maybe(item, reason, now)
    assignment.refresh_from_db(fields=["state", "ended_at", "skip", "reason"])
    return assignment


def _set_aside_maybe(item: RoundItem, reason: str, now: datetime) -> None:
    said = Assignment.objects.filter(item=item, kind=Kind.WORK, skip=Skip.UNJUDGEABLE)
    people = said.aggregate(n=Count("annotator", distinct=True))["n"]
    item.refresh_from_db(fields=["wanted", "closed_at"])
    if item.closed_at is None and people >= min(UNJUDGEABLE_NEEDS, item.wanted):
        item_set_aside(item=item, reason=reason, now=now)


def lease_late(*, assignment: Assignment, now: datetime) -> bool:
    """Take up a lease that has ended, because its answer came after all: True when it counts.

    The caller holds the item's row. A newer lease of the person on the item is ended, for this answer stands for it. One of
    kind work takes a place if the item has one and is open, else it becomes late.
    """
    newer = Assignment.objects.filter(
        item_id=assignment.item_id, annotator_id=assignment.annotator_id, kind=assignment.kind, state=State.ACTIVE
    )
    work = assignment.kind == Kind.WORK
    if newer.update(state=State.EXPIRED, ended_at=now) and work:
        place_give(item_id=assignment.item_id)
    row = Assignment.objects.filter(pk=assignment.pk, state__in=[State.EXPIRED, State.RELEASED])
    again = Q(item_id=assignment.item_id, annotator_id=assignment.annotator_id, kind=assignment.kind)
    answered = Assignment.objects.filter(again, state=State.SUBMITTED).exists()
    if answered or (work and not place_take(item_id=assignment.item_id)):
        row.update(state=State.LATE, ended_at=now)
        return False
    slot = slot_free(item_id=assignment.item_id) if work else assignment.slot
    if not row.update(state=State.SUBMITTED, slot=slot, ended_at=now) and work:
        place_give(item_id=assignment.item_id)
    return True


def participation_counted(
    *,
    round: Round,  # noqa: A002 -- the word of the domain
    annotator: User,
    now: datetime,
    kind: str = Kind.WORK,
) -> Participation:
    """Count one answer of a person, who comes into the round by it if need be: called once for each lease that is submitted,
    late ones included. One UPDATE, which gives the person's place.

    ``done`` counts kind work alone; training counts nowhere but in the sitting's clock. Where the round asks for known
    answers or repetitions, work counts towards the next of them, and each begins its own count anew.
    """
    rules = rules_of(round)
    work = kind == Kind.WORK
    counted = {
        "within": round.pk,
        "person": annotator.pk,
        "work": int(work),
        "shown": 0 if kind == Kind.TRAINING else 1,
        "today": timezone.localdate(now),
        "now": now,
        "since": now - timedelta(minutes=round.sitting_break_minutes),
        "step": int(work and bool(rules.gold_every or rules.repeat_every)),
        "gold": int(kind != Kind.GOLD),
        "repeat": int(kind != Kind.REPEAT),
    }
    found = _COUNTED.rows(**counted)
    if not found:
        place = participation_get(round=round, annotator=annotator)
        found = (_COUNTED.rows(**counted) if place.pk else []) or [place]
    found[0].round, found[0].annotator = round, annotator
    return found[0]


def draft_save(*, assignment: Assignment, draft: dict[str, Any]) -> Assignment:
    """Keep what was filled in so far, also on a lease that has ended; Conflict once it is submitted.

    InvalidInput when it is no object, larger than 64 KiB, or holds a character that no database keeps.
    """
    if not isinstance(draft, dict) or len(json.dumps(draft)) > DRAFT_LIMIT:
        raise InvalidInput(_("A draft is a JSON object of at most 64 KiB."), field="draft")
    if unstorable(draft):
        raise InvalidInput(_("%(field)s holds a character that no text has.") % {"field": "draft"}, field="draft")
    changed = (
        Assignment.objects.filter(pk=assignment.pk).exclude(state__in=[State.SUBMITTED, State.LATE]).update(draft=draft)
    )
    if not changed:
        raise Conflict(_("This item is submitted already; the draft was not needed any more."))
    assignment.draft = draft
    return assignment
