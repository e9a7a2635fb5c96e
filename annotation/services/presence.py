"""Somebody is at an item, leaves it, and is about to come to the next."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction

from annotation.models import Assignment
from annotation.services.assignments import assignment_next, participation_counted
from generation.models import Clip, Variant

State = Assignment.State
LEAVE_GRACE = timedelta(seconds=60)
"""A reload takes less, and comes back to the same item."""


def assignment_leave(*, assignment: Assignment, now: datetime) -> bool:
    """The page was left with nothing entered: the reservation ends in a minute, and others may have the item.

    Not at once, because a reload leaves, too; the page that comes back prolongs it. No trace is left of a skip, since
    nobody has refused the item. True when it was shortened.
    """
    soon = now + LEAVE_GRACE
    row = Assignment.objects.filter(pk=assignment.pk, state=State.ACTIVE, draft={}, lease_until__gt=soon)
    return bool(row.update(lease_until=soon))


class ClipAhead(NamedTuple):
    """A clip that the person will probably want next."""

    uid: str
    clip: Clip


def clips_ahead(*, assignment: Assignment, now: datetime) -> list[ClipAhead]:
    """The clips of the item that would come if this lease were submitted now. Nothing is reserved and nothing stays.

    The queue itself is asked, inside a transaction that is undone: so work, gold and repeats are foretold alike, and
    nobody can tell them by how fast their sound comes. The lease is counted as its answer would be. Ordered by public id,
    which says nothing.
    """
    round_, annotator = assignment.item.round, assignment.annotator
    with transaction.atomic():
        Assignment.objects.filter(pk=assignment.pk, state=State.ACTIVE).update(state=State.SUBMITTED, ended_at=now)
        if not assignment.judgements.exists():  # one that was taken back is counted already
            participation_counted(round=round_, annotator=annotator, now=now, kind=assignment.kind)
        following = assignment_next(round=round_, annotator=annotator, now=now)
        transaction.set_rollback(True)
    if following is None:
        return []
    variants = Variant.objects.filter(turn__dialogue_id=following.item.dialogue_id, clip__isnull=False)
    return [
        ClipAhead(uid=variant.uid, clip=variant.clip)
        for variant in variants.select_related("clip").order_by("uid")
        if variant.clip is not None
    ]
