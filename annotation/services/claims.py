"""Places on an item: taken by one conditional UPDATE whose row count is looked at, given back with the lease that held it.

``RoundItem.held`` counts the active and submitted leases of kind work. Whoever changes that number holds the item's row
until the end of the transaction, so that slots are read and taken by one at a time. Rows are locked in one order
everywhere: the person, the item, then leases and the person's place in the round.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Greatest

from annotation.models import Assignment, Kind, Participation, Round, RoundItem
from annotation.selectors.candidates import Candidate, candidates
from eqstudio.models import User
from eqstudio.prepared import PreparedUpdate

REPAIR_CHUNK = 500
_TAKE = PreparedUpdate(
    lambda item: (
        RoundItem.objects.filter(pk=item, closed_at=None, held__lt=F("wanted")),
        {"held": F("held") + 1},
    )
)


def item_claim(
    *,
    round: Round,  # noqa: A002 -- the word of the domain
    annotator: User,
    participation: Participation,
    now: datetime,
) -> Candidate | None:
    """Take a place on the best item that still has one; None when there is none. The caller makes the lease."""
    for found in candidates(round=round, annotator=annotator, participation=participation, now=now):
        if place_take(item_id=found.pk):
            return found
    return None


def place_take(*, item_id: int) -> bool:
    """Take a place on an open item; False when all are taken or the item is closed."""
    return bool(_TAKE.run(item=item_id))


def place_give(*, item_id: int) -> None:
    """Give a place back."""
    RoundItem.objects.filter(pk=item_id, held__gt=0).update(held=F("held") - 1)


def slot_free(*, item_id: int) -> int:
    """The lowest slot that no active or submitted lease of kind work holds; the caller has taken a place."""
    leases = Assignment.objects.filter(item_id=item_id, kind=Kind.WORK, state__in=Assignment.HOLDING)
    return slot_lowest(set(leases.values_list("slot", flat=True)))


def slot_lowest(held: set[int]) -> int:
    """The lowest number that is not held."""
    return next(slot for slot in range(len(held) + 1) if slot not in held)


class Drift(NamedTuple):
    """An item whose count is not what its leases say."""

    item_id: int
    counted: int
    held: int


def items_drifted(*, round: Round) -> list[Drift]:  # noqa: A002
    """Items whose ``held`` is not the number of their leases. Two walks along indexes; for the sweep and the repair."""
    holding = Assignment.objects.filter(item__round=round, kind=Kind.WORK, state__in=Assignment.HOLDING)
    counted = dict(holding.order_by().values_list("item_id").annotate(n=Count("pk")))
    items = round.items.filter(Q(held__gt=0) | Q(pk__in=_some(holding))).order_by().values_list("pk", "held")
    return [
        Drift(pk, counted.get(pk, 0), held)
        for pk, held in items.iterator(chunk_size=5_000)
        if counted.get(pk, 0) != held
    ]


def _some(holding: QuerySet[Assignment]) -> QuerySet[Assignment, int]:
    return holding.order_by().values_list("item_id", flat=True)


def items_recount(*, round: Round) -> int:  # noqa: A002
    """Set ``held`` right from the leases, and ``items_total`` of the round. Returns how many items were wrong.

    ``wanted`` grows where more people hold an item than it asks for. Each item in a transaction of its own, so that people
    go on working meanwhile. Can be run at any time, twice without harm.
    """
    wrong = 0
    for drift in items_drifted(round=round):
        with transaction.atomic():
            item = RoundItem.objects.select_for_update().only("pk", "held").get(pk=drift.item_id)
            held = Assignment.objects.filter(item=item, kind=Kind.WORK, state__in=Assignment.HOLDING).count()
            if item.held != held:
                RoundItem.objects.filter(pk=item.pk).update(held=held, wanted=Greatest(F("wanted"), held))
                wrong += 1
    Round.objects.filter(pk=round.pk).update(items_total=round.items.filter(kind=Kind.WORK).count())
    return wrong
