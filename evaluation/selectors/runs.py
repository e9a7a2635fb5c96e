"""Model runs that somebody should work on, and how they go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Avg, Count, Exists, Max, OuterRef, Q, QuerySet, Sum

from eqstudio.errors import StudioError
from evaluation.backends import backends, evaluators
from evaluation.models import Respondent, Response, RunCall, RunItem, RunWorker, Sitting
from evaluation.selectors.progress import Progress

SHARED_BY = 4
"""So many processes at most are sent to one sitting at a time."""
RECENT = timedelta(seconds=60)
"""The pace of now is that of the last minute."""


def sittings_due(*, now: datetime) -> QuerySet[Sitting]:
    """Model sittings that have something to ask now and room for another worker."""
    items = RunItem.objects.filter(sitting=OuterRef("pk"))
    free = items.filter(Q(lease_until=None) | Q(lease_until__lte=now))
    working = Q(waiting__lease_until__gt=now) & ~Q(waiting__lease_holder="")
    return (
        Sitting.objects.filter(
            Q(not_before=None) | Q(not_before__lte=now),
            Exists(free) | ~Exists(items) | Exists(items.exclude(lease_holder="")),
            state=Sitting.State.OPEN,
            error="",
            respondent__kind__in=[Respondent.Kind.MODEL, Respondent.Kind.RULE],
            respondent__run_spec__isnull=False,
        )
        .annotate(working=Count("waiting__lease_holder", filter=working, distinct=True))
        .filter(working__lt=SHARED_BY)
        .order_by("pk")
    )


def queue_of(*, sitting_id: int) -> str:
    """``io`` or ``gpu``, by the backend of the sitting and how it is asked. What is not there any more is told by whoever tries."""
    content = (
        Sitting.objects.filter(pk=sitting_id).values_list("respondent__run_spec__content", flat=True).first() or {}
    )
    try:
        queues = {backends.get(content.get("backend", "")).queue, evaluators.get(content.get("evaluator", ""))().queue}
    except StudioError:
        return "io"
    return "gpu" if "gpu" in queues else "io"


@dataclass(frozen=True)
class Pulse:
    """How a run goes now. ``rate``: answers a minute; ``seconds_left`` until the last dialogue; costs in US dollars, None
    where no price is known. ``calls`` and ``tokens`` are of this sitting.
    """

    rate: float | None
    seconds_left: float | None
    calls: int
    failed_calls: int
    tokens: int
    latency_ms: float | None
    cost: Decimal | None
    cost_in_all: Decimal | None
    answered_calls: int
    usage_told: int
    """Of how many calls the provider said what they used."""

    @property
    def reports_usage(self) -> bool:
        """False where calls were answered and none said what it used."""
        return bool(self.usage_told) or not self.answered_calls

    @property
    def reports_cost(self) -> bool:
        return self.cost is not None or not self.answered_calls

    @property
    def left(self) -> int | None:
        """Whole seconds until the last dialogue."""
        return None if self.seconds_left is None else round(self.seconds_left)


def run_pulse(*, sitting: Sitting, progress: Progress, now: datetime) -> Pulse:
    """Two queries. The estimates hold the dialogues that are left against those that are through."""
    recent = Response.objects.filter(trial__sitting=sitting, created__gt=now - RECENT).order_by()
    lately = recent.aggregate(n=Count("pk"), last=Max("created"))
    spent = RunCall.objects.filter(sitting=sitting).aggregate(
        calls=Count("pk"),
        failed=Count("pk", filter=Q(outcome="error")),
        told=Count("pk", filter=Q(tokens_in__isnull=False) | Q(tokens_out__isnull=False)),
        tokens_in=Sum("tokens_in"),
        tokens_out=Sum("tokens_out"),
        latency=Avg("latency_ms", filter=Q(outcome="ok")),
        cost=Sum("cost"),
    )
    open_now = sitting.state == Sitting.State.OPEN and not sitting.error
    span = min(RECENT.total_seconds(), (now - sitting.started).total_seconds())
    rate = lately["n"] / span * 60 if open_now and lately["n"] and span > 0 else None
    each = progress.answers / progress.done if progress.done else None
    left = progress.total - progress.done
    return Pulse(
        rate=rate,
        seconds_left=60 * left * each / rate if rate and each else None,
        calls=spent["calls"],
        failed_calls=spent["failed"],
        tokens=(spent["tokens_in"] or 0) + (spent["tokens_out"] or 0),
        latency_ms=spent["latency"],
        cost=spent["cost"],
        cost_in_all=None
        if spent["cost"] is None or not progress.done
        else spent["cost"] * progress.total / progress.done,
        answered_calls=spent["calls"] - spent["failed"],
        usage_told=spent["told"],
    )


def failed_calls_by_cause(*, sitting: Sitting) -> list[dict[str, object]]:
    """Calls that failed, also those that went well at another try; by cause, most frequent first."""
    found = RunCall.objects.filter(sitting=sitting, outcome="error").order_by().values("cause")
    return [dict(row) for row in found.annotate(n=Count("pk"), latest=Max("created")).order_by("-n", "cause")]


def workers_of(*, sitting: Sitting) -> QuerySet[RunWorker]:
    """Who worked on a sitting, latest first."""
    return RunWorker.objects.filter(sitting=sitting).order_by("-seen")
