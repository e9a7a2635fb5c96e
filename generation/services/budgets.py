"""What a batch may take: counted before every call, and stopped cleanly when it is used up."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from eqstudio.prepared import PreparedUpdate
from generation.models import Batch, Dialogue


class BudgetSpent(StudioError):  # noqa: N818 -- named for what happened
    """The batch has used up what it may take. What was made is kept; with a higher budget it goes on."""


@dataclass(frozen=True)
class Budget:
    """Limits of a batch; None for no limit. Calls are counted before they are made, so their limit holds exactly.
    Tokens and dollars are known afterwards: what is under way when they are used up is still let finish.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None


_COUNT = PreparedUpdate(
    lambda batch, begun, tokens: (
        Batch.objects.filter(pk=batch),
        {
            "calls_done": F("calls_done") + 1,
            "calls_begun": F("calls_begun") + begun,
            "tokens_spent": F("tokens_spent") + tokens,
        },
    )
)


def call_reserve(*, dialogue: Dialogue | None) -> None:
    """Count a call of the dialogue's batch before it is made, if the batch has limits. BudgetSpent when there is none left;
    the batch is stopped.

    Side effects: the batch's count, or its stop with an Event.
    """
    batch = _batch(dialogue)
    if batch is None or not _is_limited(batch):
        return
    within = (
        (Q(max_calls=None) | Q(calls_begun__lt=F("max_calls")))
        & (Q(max_tokens=None) | Q(tokens_spent__lt=F("max_tokens")))
        & (Q(max_cost=None) | Q(cost_spent__lt=F("max_cost")))
    )
    if Batch.objects.filter(within, pk=batch.pk, stopped_at=None).update(calls_begun=F("calls_begun") + 1):
        return
    raise BudgetSpent(_batch_stop(batch.pk))


def call_return(*, dialogue: Dialogue | None) -> None:
    """Give back what ``call_reserve`` counted, for a call that could not be made."""
    batch = _batch(dialogue)
    if batch is not None and _is_limited(batch):
        Batch.objects.filter(pk=batch.pk, calls_begun__gt=0).update(calls_begun=F("calls_begun") - 1)


def call_count(*, dialogue: Dialogue | None, tokens: int, cost: Decimal | None) -> None:
    """Add a call that is in the ledger to what its batch has taken; part of the caller's transaction."""
    batch = _batch(dialogue)
    if batch is None:
        return
    _COUNT.run(batch=batch.pk, begun=int(not _is_limited(batch)), tokens=tokens)
    if cost:
        Batch.objects.filter(pk=batch.pk).update(cost_spent=F("cost_spent") + cost)


def _batch(dialogue: Dialogue | None) -> Batch | None:
    return dialogue.brief.batch if dialogue is not None and dialogue.brief is not None else None


def _is_limited(batch: Batch) -> bool:
    """As it was when its dialogue was claimed: a step that is under way does not notice a new limit."""
    return batch.max_calls is not None or batch.max_tokens is not None or batch.max_cost is not None


@transaction.atomic
def budget_set(*, batch: Batch, budget: Budget, actor: User | None = None) -> Batch:
    """Give a batch other limits; one that was stopped and has room again goes on. One Event.

    InvalidInput for a limit below one; Conflict when the batch was called off.
    """
    _budget_check(budget)
    row = Batch.objects.select_for_update().get(pk=batch.pk)
    if row.cancelled_at is not None:
        raise Conflict(_("This batch was called off. Ask for its dialogues again instead."))
    row.max_calls, row.max_tokens, row.max_cost = budget.calls, budget.tokens, budget.cost
    if not _spent(row):
        row.stopped_at, row.stopped_reason = None, ""
    row.save(update_fields=["max_calls", "max_tokens", "max_cost", "stopped_at", "stopped_reason"])
    event_record(
        actor=actor,
        verb="budget set",
        entity=row,
        calls=budget.calls,
        words=budget.tokens,
        dollars=None if budget.cost is None else str(budget.cost),
    )
    return row


def _budget_check(budget: Budget) -> None:
    for name, limit in (("max_calls", budget.calls), ("max_tokens", budget.tokens), ("max_cost", budget.cost)):
        if limit is not None and limit <= 0:
            raise InvalidInput(_("A limit is more than zero; leave it empty for none."), field=name)


@transaction.atomic
def _batch_stop(batch_id: int) -> str:
    """Stop a batch once, with an Event. Returns what it says of itself."""
    batch = Batch.objects.select_for_update().get(pk=batch_id)
    if batch.stopped_at is None:
        batch.stopped_at = timezone.now()
        batch.stopped_reason = _spent(batch)[:200]
        batch.save(update_fields=["stopped_at", "stopped_reason"])
        event_record(actor=None, verb="budget used up", entity=batch, reason=batch.stopped_reason)
    return batch.stopped_reason


def _spent(batch: Batch) -> str:
    """Which limit is reached, in words; empty when there is room."""
    if batch.max_calls is not None and batch.calls_begun >= batch.max_calls:
        return _("%(n)d of %(limit)d calls are made.") % {"n": batch.calls_begun, "limit": batch.max_calls}
    if batch.max_tokens is not None and batch.tokens_spent >= batch.max_tokens:
        return _("%(n)d of %(limit)d tokens are used.") % {"n": batch.tokens_spent, "limit": batch.max_tokens}
    if batch.max_cost is not None and batch.cost_spent >= batch.max_cost:
        return _("%(n).4f of %(limit).4f dollars are spent.") % {"n": batch.cost_spent, "limit": batch.max_cost}
    return ""
