"""What has to be done to very many items of a round is asked for here, and done by a worker in many short transactions.

What has to be done is read from the items themselves, so a chore that was cut off, or is done twice, ends the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation.models import Chore, Kind, Round, RoundItem
from annotation.services.item_sets import items_set_aside, items_take_back, pages_of
from annotation.services.items import item_close
from eqstudio.models import User

AT_ONCE = 500
"""So many items are seen to within the request that asks for it."""
LEASE = timedelta(minutes=4)
"""Renewed with every few hundred items; the sweep takes up what has not been renewed for so long."""
State, Work = Chore.State, Chore.Work
Step = Callable[[Chore], Iterator[int]]
"""Does the work in short transactions and says after each how many items it has seen to since it was called."""


def chore_ask(*, round: Round, work: Chore.Work, total: int, actor: User | None) -> Chore:  # noqa: A002
    """Ask for a chore; the one that waits already is returned instead. The sweep hands it out, if nobody does before."""
    try:
        return _chore_add(round, work, total, actor)
    except IntegrityError:
        waiting = Chore.objects.filter(round=round, work=work, state=State.WAITING).first()
        return waiting or _chore_add(round, work, total, actor)  # a worker has begun it in between


def _chore_add(round_: Round, work: Chore.Work, total: int, actor: User | None) -> Chore:
    with transaction.atomic():
        return Chore.objects.create(round=round_, work=work, total=total, created_by=actor)


def chores_due(*, now: datetime) -> QuerySet[Chore]:
    """Chores nobody works on: waiting ones, and running ones whose lease is over."""
    return Chore.objects.filter(Q(state=State.WAITING) | Q(state=State.RUNNING, lease_until__lte=now))


def chore_run(*, chore_id: int, steps: dict[str, Step], now: datetime) -> Chore:
    """Do a chore by the step of its kind, renewing its lease; run twice, it is done once. Another worker's is left alone.

    One that was cut off goes on counting where it was.
    """
    lease = now + LEASE
    mine = chores_due(now=now).filter(pk=chore_id).update(state=State.RUNNING, lease_until=lease)
    chore = Chore.objects.select_related("round__corpus", "created_by").get(pk=chore_id)
    if not mine:
        return chore
    held = Chore.objects.filter(pk=chore_id, state=State.RUNNING)
    for seen in steps[chore.work](chore):
        renewed, done = timezone.now() + LEASE, chore.done + seen
        if not held.filter(lease_until=lease).update(lease_until=renewed, done=done, total=max(done, chore.total)):
            return chore
        lease = renewed
    held.filter(lease_until=lease).update(state=State.DONE, lease_until=None)
    chore.refresh_from_db()
    return chore


def items_full(*, round: Round) -> QuerySet[RoundItem]:  # noqa: A002
    """Open items of kind work on which every place is taken and enough people have judged: they may be complete."""
    return round.items.filter(kind=Kind.WORK, closed_at=None, held=F("wanted"), given__gte=F("round__people_per_item"))


def items_close_full(*, round: Round) -> Iterator[int]:  # noqa: A002
    """Close those of them that are complete, each in a transaction of its own; how many have been looked at."""
    seen = 0
    for pks in pages_of(items_full(round=round)):
        for pk in pks:
            with transaction.atomic():
                item = RoundItem.objects.select_for_update(of=("self",)).select_related("round", "dialogue").get(pk=pk)
                item_close(item=item, now=timezone.now())
        seen += len(pks)
        yield seen


def items_of_closed(*, round: Round) -> QuerySet[RoundItem]:  # noqa: A002
    """Open items of kind work that somebody has judged: in a closed round nobody else will. Those that are complete are
    closed by ``items_close_full`` first; too few have judged the others.
    """
    return round.items.filter(kind=Kind.WORK, closed_at=None, given__gte=1)


def round_held(*, round: Round, closed: bool) -> bool:  # noqa: A002
    """Hold a round's row until the end of the transaction; whether it is still closed, or still not."""
    states = Round.objects.select_for_update(no_key=True).filter(pk=round.pk).values_list("state", flat=True)
    return (states.get() == Round.State.CLOSED) == closed


def closing(chore: Chore, reason: str) -> Iterator[int]:
    """Close what is complete, then send what too few have judged to an expert, as long as the round stays closed."""
    settled = 0
    for settled in items_close_full(round=chore.round):
        yield settled
    aside = _while_the_round_is(
        chore,
        items_of_closed(round=chore.round),
        lambda items: items_set_aside(items=items, reason=reason, now=timezone.now()),
        closed=True,
    )
    yield from (settled + done for done in aside)


def opening(chore: Chore, items: QuerySet[RoundItem], reason: str) -> Iterator[int]:
    """Take back what went to an expert because the round closed, as long as the round is not closed again; then close
    what is complete, since fewer people may be asked by now.
    """
    done = 0
    for done in _while_the_round_is(
        chore,
        items,
        lambda some: items_take_back(items=some, actor=chore.created_by, reason=reason),
        closed=False,
    ):
        yield done
    yield from (done + settled for settled in items_close_full(round=chore.round))


def _while_the_round_is(
    chore: Chore, items: QuerySet[RoundItem], act: Callable[[QuerySet[RoundItem]], int], *, closed: bool
) -> Iterator[int]:
    done = 0
    for pks in pages_of(items):
        with transaction.atomic():
            if not round_held(round=chore.round, closed=closed):
                return
            done += act(items.filter(pk__in=pks))
        yield done
