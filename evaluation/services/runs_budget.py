"""What a run may take: calls are counted before they are made, tokens and money when they are known."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import F
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.models import Respondent, RunPlan, Sitting
from evaluation.services.sittings import sitting_resume

MAX_CONCURRENCY = 256


@dataclass(frozen=True)
class Limits:
    """Limits of a run over all its sittings; None for none. Calls hold exactly; what is under way when tokens or dollars
    are used up is still let finish. ``concurrency`` is calls at once in one worker; None for what the backend says.
    """

    concurrency: int | None = None
    calls: int | None = None
    tokens: int | None = None
    cost: Decimal | None = None


def plan_of(*, respondent: Respondent) -> RunPlan:
    return RunPlan.objects.get_or_create(respondent=respondent)[0]


def limits_over(plan: RunPlan, limits: Limits) -> Limits:
    """``limits``, with what they leave open as the plan has it."""
    return Limits(
        concurrency=plan.concurrency if limits.concurrency is None else limits.concurrency,
        calls=plan.max_calls if limits.calls is None else limits.calls,
        tokens=plan.max_tokens if limits.tokens is None else limits.tokens,
        cost=plan.max_cost if limits.cost is None else limits.cost,
    )


def limits_set(*, respondent: Respondent, limits: Limits, actor: User | None = None) -> RunPlan:
    """Give a run other limits; a sitting that stopped for one may then be resumed. One Event."""
    for name, limit in (("calls", limits.calls), ("tokens", limits.tokens), ("cost", limits.cost)):
        if limit is not None and limit <= 0:
            raise InvalidInput(_("A limit is more than zero; leave it empty for none."), field=f"budget_{name}")
    if limits.concurrency is not None and not 1 <= limits.concurrency <= MAX_CONCURRENCY:
        raise InvalidInput(
            _("Between 1 and %(most)d questions at once.") % {"most": MAX_CONCURRENCY}, field="concurrency"
        )
    plan = plan_of(respondent=respondent)
    plan.concurrency = limits.concurrency
    plan.max_calls, plan.max_tokens, plan.max_cost = limits.calls, limits.tokens, limits.cost
    plan.save(update_fields=["concurrency", "max_calls", "max_tokens", "max_cost"])
    event_record(
        actor=actor,
        verb="run_limits",
        entity=respondent,
        calls=limits.calls,
        tokens=limits.tokens,
        dollars=None if limits.cost is None else str(limits.cost),
        concurrency=limits.concurrency,
    )
    return plan


def calls_reserve(*, plan: RunPlan, count: int) -> int:
    """Count up to ``count`` calls before they are made; how many may be. 0 when a limit is reached."""
    if not is_limited(plan):
        return count
    plan.refresh_from_db(fields=["calls_begun", "tokens_spent", "cost_spent", "max_calls", "max_tokens", "max_cost"])
    if spent(plan):
        return 0
    if plan.max_calls is None:
        RunPlan.objects.filter(pk=plan.pk).update(calls_begun=F("calls_begun") + count)
        return count
    wanted = min(count, plan.max_calls - plan.calls_begun)
    within = RunPlan.objects.filter(pk=plan.pk, calls_begun__lte=F("max_calls") - wanted)
    return wanted if within.update(calls_begun=F("calls_begun") + wanted) else 0


def calls_return(*, plan: RunPlan, count: int) -> None:
    """Take back calls that were counted and never made."""
    if is_limited(plan):
        RunPlan.objects.filter(pk=plan.pk).update(calls_begun=F("calls_begun") - count)


def calls_count(*, plan: RunPlan, calls: int, tokens: int, cost: Decimal) -> None:
    """Add calls that are in the ledger to what the run has taken; part of the caller's transaction."""
    more: dict[str, int | Decimal] = {"tokens_spent": tokens, "cost_spent": cost}
    if not is_limited(plan):
        more["calls_begun"] = calls
    added = {name: F(name) + amount for name, amount in more.items() if amount}
    if added:
        RunPlan.objects.filter(pk=plan.pk).update(**added)


def is_limited(plan: RunPlan) -> bool:
    """As the plan was when the worker began; another limit holds from the next step on."""
    return plan.max_calls is not None or plan.max_tokens is not None or plan.max_cost is not None


def spent(plan: RunPlan) -> str:
    """Which limit is reached, in words; empty when there is room."""
    if plan.max_calls is not None and plan.calls_begun >= plan.max_calls:
        return _("The budget is used up: %(n)d of %(limit)d calls are made.") % {
            "n": plan.calls_begun,
            "limit": plan.max_calls,
        }
    if plan.max_tokens is not None and plan.tokens_spent >= plan.max_tokens:
        spent_tokens = {"n": plan.tokens_spent, "limit": plan.max_tokens}
        if plan.tokens_spent > plan.max_tokens:
            return (
                _("The budget of %(limit)d tokens is used up: with the calls under way, %(n)d are spent.")
                % spent_tokens
            )
        return _("The budget is used up: %(n)d of %(limit)d tokens are spent.") % spent_tokens
    if plan.max_cost is not None and plan.cost_spent >= plan.max_cost:
        told = {"n": plan.cost_spent, "limit": plan.max_cost}
        if plan.cost_spent > plan.max_cost:
            return (
                _("The budget of %(limit).4f dollars is used up: with the calls under way, %(n).4f are spent.") % told
            )
        return _("The budget is used up: %(n).4f of %(limit).4f dollars are spent.") % told
    return ""


def run_resume(*, sitting: Sitting, actor: User | None = None) -> bool:
    """Let a run go on that stopped by itself; False when there was nothing to resume. One Event.

    Conflict while a limit is still reached: it would stop again before its first question.
    """
    plan = RunPlan.objects.filter(respondent=sitting.respondent_id).first()
    if plan is not None and (reached := spent(plan)):
        raise Conflict(_("%(reached)s Raise or empty that limit under “Budget and pace”.") % {"reached": reached})
    return sitting_resume(sitting=sitting, actor=actor)


def limit_unseen(*, plan: RunPlan, reports_usage: bool, reports_cost: bool) -> str:
    """Which limit will never be reached, for its amount is not known of this model's calls; empty where none."""
    if not reports_usage and (plan.max_tokens is not None or (plan.max_cost is not None and not reports_cost)):
        return _(
            "The model's server reports no usage, so a limit of tokens or dollars is never reached. Limit the calls instead."
        )
    if plan.max_cost is not None and not reports_cost:
        return _("No price is known for this model, so a limit of dollars is never reached. Limit the calls instead.")
    return ""
