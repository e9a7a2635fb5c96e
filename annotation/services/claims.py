"""Places on an item: taken by one conditional UPDATE whose row count is looked at, given back with the lease that held it.

``RoundItem.held`` counts the active and submitted leases of kind work. Whoever changes that number holds the item's row
until the end of the transaction, so that slots are read and taken by one at a time. Rows are locked in one order
everywhere: the person, the item, then leases and the person's place in the round.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Greatest

from annotation.models import Assignment, Kind, Participation, Round, RoundItem
from annotation.selectors.candidates import Candidate, candidates
from annotation.selectors.judgements import item_tally, live_judgements
from eqstudio.models import User
from eqstudio.prepared import PreparedUpdate

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
    """An item whose kept counts are not what its leases and judgements say."""

    item_id: int
    counted: int
    held: int


def items_drifted(*, round: Round) -> list[Drift]:  # noqa: A002
    """Items whose ``held`` is not the number of their leases. One statement, so that work going on meanwhile is no drift."""
    live = Q(assignments__kind=Kind.WORK, assignments__state__in=Assignment.HOLDING)
    items = round.items.order_by().annotate(counted=Count("assignments", filter=live)).exclude(held=F("counted"))
    return [Drift(*row) for row in items.values_list("pk", "counted", "held").iterator(chunk_size=5_000)]


def items_misjudged(*, round: Round) -> list[int]:  # noqa: A002
    """Open items whose ``given`` is not the number of their judgements that count. One statement."""
    counting = (
        live_judgements().filter(item=OuterRef("pk")).order_by().values("item_id").annotate(n=Count("pk")).values("n")
    )
    items = round.items.filter(kind=Kind.WORK, closed_at=None).order_by().annotate(n=Coalesce(Subquery(counting), 0))
    return list(items.exclude(given=F("n")).values_list("pk", flat=True).iterator(chunk_size=5_000))


def items_recount(*, round: Round) -> int:  # noqa: A002
    """Set ``held`` right from the leases and ``given`` from the judgements, and ``items_total`` of the round. Returns how
    many items were wrong.

    ``wanted`` grows where more people hold an item than it asks for. Each item in a transaction of its own, so that people
    go on working meanwhile. Can be run at any time, twice without harm.
    """
    keys = {drift.item_id for drift in items_drifted(round=round)} | set(items_misjudged(round=round))
    wrong = sum(_item_recount(pk) for pk in sorted(keys))
    _total_recount(round.pk)
    return wrong


@transaction.atomic
def _total_recount(pk: int) -> None:
    """Count under the round's lock, which is held by whoever adds items, so that none come in before it is written."""
    row = Round.objects.select_for_update(no_key=True).only("pk").get(pk=pk)
    Round.objects.filter(pk=pk).update(items_total=row.items.filter(kind=Kind.WORK).count())


@transaction.atomic
def _item_recount(pk: int) -> bool:
    item = RoundItem.objects.select_for_update().only("pk", "held", "given").get(pk=pk)
    held = Assignment.objects.filter(item=item, kind=Kind.WORK, state__in=Assignment.HOLDING).count()
    given = len(item_tally(item=item).votes)
    if (item.held, item.given) == (held, given):
        return False
    RoundItem.objects.filter(pk=pk).update(held=held, given=given, wanted=Greatest(F("wanted"), held))
    return True


def counts_wrong(*, round: Round) -> int:  # noqa: A002
    """How many kept counts of a round are wrong: of its items, and its own of how many it has."""
    keys = {drift.item_id for drift in items_drifted(round=round)} | set(items_misjudged(round=round))
    return len(keys) + (round.items_total != round.items.filter(kind=Kind.WORK).count())
