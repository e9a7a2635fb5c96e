"""Leases: claimed by INSERT under the unique constraints, so no race hands out more than was asked for."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotation.domain.assignment import Candidate, rank, shown_order
from annotation.models import Assignment, Kind, Participation, Round, RoundItem
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.models import Variant

State = Assignment.State
DRAFT_LIMIT = 64 * 1024


def assignments_expire(*, now: datetime, round: Round | None = None) -> int:  # noqa: A002 -- the word of the domain
    """End every active lease whose time is over, by one conditional UPDATE; drafts stay. Returns how many ended."""
    due = Assignment.objects.filter(state=State.ACTIVE, lease_until__lte=now)
    if round is not None:
        due = due.filter(item__round=round)
    return due.update(state=State.EXPIRED, ended_at=now)


@transaction.atomic
def assignment_next(*, round: Round, annotator: User, now: datetime) -> Assignment | None:  # noqa: A002
    """The person's active lease in this round, or a new one on the item that ranks first; None when there is nothing.

    Ends leases that are over, locks the person's own row (two tabs get the same lease), then tries to INSERT a lease on
    one candidate after another: the constraints on (item, slot) and (item, annotator) decide who was first. A draft left
    on the item by the same person comes back with it.
    """
    assignments_expire(now=now, round=round)
    User.objects.select_for_update(no_key=True).only("pk").get(pk=annotator.pk)
    mine = _active(round, annotator)
    if mine is not None or round.state != Round.State.OPEN:
        return mine
    lost: set[str] = set()
    while candidates := [
        found for found in candidates_for(round=round, annotator=annotator, now=now) if found.key not in lost
    ]:
        for candidate in rank(candidates, order=round.order, person_seed=f"{round.seed}:{annotator.uid}"):
            lease = _claim(round, annotator, candidate, now)
            if lease is not None:
                return lease
            lost.add(candidate.key)
    return None


def _active(round_: Round, annotator: User) -> Assignment | None:
    mine = Assignment.objects.filter(item__round=round_, annotator=annotator, state=State.ACTIVE)
    return mine.select_related("item__dialogue", "item__round").first()


def candidates_for(*, round: Round, annotator: User, now: datetime) -> list[Candidate]:  # noqa: A002
    """Open items with room that the person has neither judged nor just skipped. Three plain queries, because counting by
    join costs twice as much on a round of ten thousand items.
    """
    cool_down = now - timedelta(minutes=round.lease_minutes)
    seen = Q(state__in=[State.ACTIVE, State.SUBMITTED, State.LATE]) | Q(state=State.RELEASED, ended_at__gt=cool_down)
    mine = set(
        Assignment.objects.filter(seen, annotator=annotator, item__round=round).values_list("item_id", flat=True)
    )
    holding = Assignment.objects.filter(item__round=round, item__closed_at=None, state__in=Assignment.HOLDING)
    held = dict(holding.order_by().values_list("item_id").annotate(number=Count("pk")))
    rows = RoundItem.objects.filter(round=round, closed_at=None).order_by().values_list("uid", "pk")
    return [
        Candidate(key=key, position=pk, held=held.get(pk, 0))
        for key, pk in rows.iterator(chunk_size=5_000)
        if pk not in mine and held.get(pk, 0) < round.people_per_item
    ]


def free_slots(*, item: RoundItem, people: int) -> list[int]:
    """Slots of an item that no active or submitted lease holds."""
    held = set(item.assignments.filter(state__in=Assignment.HOLDING).values_list("slot", flat=True))
    return [slot for slot in range(people) if slot not in held]


def _claim(round_: Round, annotator: User, candidate: Candidate, now: datetime) -> Assignment | None:
    item = RoundItem.objects.select_related("dialogue").get(pk=candidate.position)
    shown = _shown(round_, annotator, item)
    earlier = item.assignments.filter(annotator=annotator).exclude(draft={}).order_by("-pk").first()
    for slot in free_slots(item=item, people=round_.people_per_item):
        try:
            with transaction.atomic():
                lease = Assignment.objects.create(
                    item=item,
                    annotator=annotator,
                    slot=slot,
                    lease_until=now + timedelta(minutes=round_.lease_minutes),
                    shown=shown,
                    draft=earlier.draft if earlier else {},
                )
        except IntegrityError:
            continue
        lease.item.round = round_
        return lease
    return None


def _shown(round_: Round, annotator: User, item: RoundItem) -> dict[str, list[str]]:
    by_position: dict[int, list[str]] = defaultdict(list)
    rows = Variant.objects.filter(turn__dialogue_id=item.dialogue_id).values_list("turn__position", "uid")
    for position, uid in rows:
        by_position[position].append(uid)
    return shown_order(by_position, seed=f"{round_.seed}:{annotator.uid}:{item.uid}")


@transaction.atomic
def assignment_extend(*, assignment: Assignment, now: datetime) -> Assignment:
    """Prolong a lease by the round's minutes. One that has ended comes back if its slot is still free (a laptop that
    slept); Conflict when somebody else has it, and then the answer can still be submitted and is kept.
    """
    until = now + timedelta(minutes=assignment.item.round.lease_minutes)
    row = Assignment.objects.filter(pk=assignment.pk)
    changed = row.filter(state=State.ACTIVE).update(lease_until=until)
    if not changed and not assignment.item.closed_at:
        try:
            with transaction.atomic():
                changed = row.filter(state=State.EXPIRED).update(state=State.ACTIVE, lease_until=until, ended_at=None)
        except IntegrityError:
            changed = 0
    if not changed:
        raise Conflict(_("The reservation has ended. Your answer is kept, also when you submit it now."))
    assignment.refresh_from_db(fields=["state", "lease_until", "ended_at"])
    return assignment


@transaction.atomic
def assignment_release(
    *, assignment: Assignment, now: datetime, skip: str = Assignment.Skip.OTHERS, reason: str = ""
) -> Assignment:
    """Give an item back (skip): its slot is free at once, the draft stays, and the person is not offered it again before
    the length of a lease has passed. Writes one Event; releasing what is no longer active changes nothing.
    """
    changed = Assignment.objects.filter(pk=assignment.pk, state=State.ACTIVE).update(
        state=State.RELEASED, ended_at=now, skip=skip, reason=reason[:200]
    )
    if changed:
        event_record(
            actor=assignment.annotator, verb="released", entity=assignment, item=assignment.item.uid, reason=reason
        )
    assignment.refresh_from_db(fields=["state", "ended_at", "skip", "reason"])
    return assignment


def draft_save(*, assignment: Assignment, draft: dict[str, Any]) -> Assignment:
    """Keep what was filled in so far, also on a lease that has ended; Conflict once it is submitted.

    InvalidInput when it is no object or larger than 64 KiB.
    """
    if not isinstance(draft, dict) or len(json.dumps(draft)) > DRAFT_LIMIT:
        raise InvalidInput(_("A draft is a JSON object of at most 64 KiB."), field="draft")
    changed = (
        Assignment.objects.filter(pk=assignment.pk).exclude(state__in=[State.SUBMITTED, State.LATE]).update(draft=draft)
    )
    if not changed:
        raise Conflict(_("This item is submitted already; the draft was not needed any more."))
    assignment.draft = draft
    return assignment


def participation_counted(*, participation: Participation, now: datetime, kind: str = Kind.WORK) -> None:
    """Count one answer of a person: called once for each lease that is submitted, late ones included."""
