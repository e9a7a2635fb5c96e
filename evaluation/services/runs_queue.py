"""What a sitting still has to ask, and who asks it: dialogues are leased one by one, so many workers may share a sitting.

A lease is short and renewed while its holder lives; what a dead process of this host held is free at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, F, Min, Q

from eqstudio.ids import uid
from evaluation.models import RunItem, Sitting
from evaluation.selectors.progress import dialogue_order
from generation.services.leases import process_is_gone, process_name

LEASE = timedelta(seconds=180)
RENEW_S = 40.0
MAX_STOPS = 12
"""A killed worker takes along all that it works on; a dialogue over which so many died is the one that kills them."""
_CHUNK = 1000


def holder_name() -> str:
    """Host, process and start time, and a word for this claim: unique, and it can be told whether the process lives."""
    return f"{process_name()}:{uid()}"


@transaction.atomic
def queue_fill(*, sitting: Sitting) -> int:
    """Queue the dialogues of the order that this sitting has not begun yet. Returns how many; 0 when all are queued.

    Whoever is first does it (a conditional UPDATE of ``queued``); a limit that was raised queues the further ones.
    """
    order = dialogue_order(sitting=sitting)
    claimed = Sitting.objects.filter(pk=sitting.pk, state=Sitting.State.OPEN, queued__lt=len(order))
    before = sitting.queued
    if before >= len(order) or not claimed.filter(queued=before).update(queued=len(order)):
        return 0
    sitting.queued = len(order)
    rows = (
        RunItem(sitting=sitting, dialogue_id=dialogue, position=position)
        for position, dialogue in enumerate(order)
        if position >= before
    )
    return len(RunItem.objects.bulk_create(rows, batch_size=_CHUNK, ignore_conflicts=True))


def items_claim(*, sitting: Sitting, holder: str, now: datetime, count: int) -> list[RunItem]:
    """Lease up to ``count`` dialogues that are due, in the order of the sitting. Fewer where others were quicker."""
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    due = RunItem.objects.filter(free, sitting=sitting)
    ids = list(due.order_by("position").values_list("pk", flat=True)[:count])
    if not ids:
        return []
    lost = Q(lease_until__lte=now) & ~Q(lease_holder="")
    RunItem.objects.filter(lost, pk__in=ids).update(lease_until=None, lease_holder="", stops=F("stops") + 1)
    claimed = RunItem.objects.filter(free, pk__in=ids).update(lease_until=now + LEASE, lease_holder=holder)
    if not claimed:
        return []
    return list(RunItem.objects.filter(pk__in=ids, lease_holder=holder).order_by("position"))


def items_renew(*, sitting: Sitting, holder: str, now: datetime) -> int:
    """Hold on to what this claim holds. Returns how many that still are."""
    return RunItem.objects.filter(sitting=sitting, lease_holder=holder).update(lease_until=now + LEASE)


def items_held(*, sitting: Sitting, holder: str) -> set[int]:
    return set(RunItem.objects.filter(sitting=sitting, lease_holder=holder).values_list("pk", flat=True))


def items_release(*, sitting: Sitting, holder: str) -> int:
    """Give back whatever this claim still holds. Returns how many dialogues came free."""
    return RunItem.objects.filter(sitting=sitting, lease_holder=holder).update(lease_until=None, lease_holder="")


def items_put_off(*, items: Iterable[RunItem], holder: str) -> None:
    """Let go of dialogues until their ``lease_until``, with the tries that failed so far."""
    for item in items:
        RunItem.objects.filter(pk=item.pk, lease_holder=holder).update(
            lease_until=item.lease_until, lease_holder="", tries=item.tries, first_try=item.first_try
        )


def items_done(*, items: Sequence[RunItem]) -> None:
    """Strike dialogues that are through off the queue."""
    RunItem.objects.filter(pk__in=[item.pk for item in items]).delete()


def items_reclaim(*, sitting: Sitting, now: datetime) -> int:
    """Free what dead processes of this host were asking. Returns how many dialogues came free."""
    held = RunItem.objects.filter(sitting=sitting, lease_until__gt=now).exclude(lease_holder="")
    holders = set(held.order_by().values_list("lease_holder", flat=True).distinct())
    gone = [holder for holder in holders if process_is_gone(holder)]
    if not gone:
        return 0
    return RunItem.objects.filter(sitting=sitting, lease_holder__in=gone).update(
        lease_until=None, lease_holder="", stops=F("stops") + 1
    )


@dataclass(frozen=True)
class Waiting:
    """How many dialogues are left, and when the next may be asked; ``due`` is None when one may be asked now."""

    left: int
    due: datetime | None


def queue_look(*, sitting: Sitting) -> Waiting:
    rows = RunItem.objects.filter(sitting=sitting)
    found = rows.aggregate(left=Count("pk"), free=Count("pk", filter=Q(lease_until=None)), due=Min("lease_until"))
    return Waiting(found["left"], None if found["free"] else found["due"])
