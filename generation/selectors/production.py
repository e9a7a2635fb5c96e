"""What is being made: how far, what failed and why, what it cost, how long it will take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet, Sum

from generation.domain.lifecycle import IN_PRODUCTION, DialogueState
from generation.models import Batch, Dialogue, ProviderCall

QUEUED = "queued"
"""Stands in ``lease_owner`` while a dialogue waits at the broker."""
RATE_WINDOW = timedelta(minutes=10)
SWEEP_LIMIT = 200

_PRODUCTION = [state.value for state in IN_PRODUCTION]
_FAILED = DialogueState.FAILED.value
_STAGES = (
    (DialogueState.BRIEFED.value, "text"),
    (DialogueState.SCRIPTED.value, "voice"),
    (DialogueState.VOICED.value, "transcriber"),
)
"""The steps in their order: the state in which a dialogue is due for each, and the kind of its calls."""


@dataclass(frozen=True)
class Failure:
    """Failed dialogues with one cause, and what one of them said."""

    cause: str
    count: int
    example: str


@dataclass(frozen=True)
class Stage:
    """One step of production: how many dialogues have it behind them, and in which state those wait that are due for it."""

    state: str
    done: int


@dataclass(frozen=True)
class Expected:
    """What a batch will have taken in the end, from what its dialogues took stage by stage. None while a stage is not known:
    a line spoken costs something else than one written, so nothing is told of it by the other.
    """

    calls: int | None = None
    cost: Decimal | None = None
    time: timedelta | None = None


@dataclass(frozen=True)
class BatchProgress:
    """How far a batch is. ``eta`` is None while nothing was finished lately, or nothing is left."""

    total: int
    states: dict[str, int]
    stages: tuple[Stage, ...]
    failures: tuple[Failure, ...]
    calls: int
    tokens: int
    cost: Decimal | None
    expected: Expected
    cancelled: bool
    stopped: str

    @property
    def eta(self) -> timedelta | None:
        return self.expected.time

    @property
    def waiting(self) -> int:
        return sum(self.states.get(state, 0) for state in _PRODUCTION)

    @property
    def failed(self) -> int:
        return self.states.get(_FAILED, 0)

    @property
    def done(self) -> int:
        return self.total - self.waiting - self.failed

    @property
    def running(self) -> bool:
        return bool(self.waiting) and not self.cancelled and not self.stopped


def due(now: Any) -> Q:
    """Dialogues whose next step may be begun: nobody holds them and their batch is on."""
    free = Q(lease_until=None) | Q(lease_until__lte=now) | Q(lease_owner=QUEUED)
    return going() & free


def going() -> Q:
    """Dialogues in production whose batch was neither called off nor stopped."""
    return Q(state__in=_PRODUCTION, brief__isnull=False, brief__batch__cancelled_at=None, brief__batch__stopped_at=None)


def dialogues_due(*, now: datetime, limit: int = SWEEP_LIMIT) -> list[Dialogue]:
    """Due dialogues that do not wait at the broker yet, oldest first; no more than ``limit`` wait there at a time."""
    waiting = Q(lease_owner=QUEUED, lease_until__gt=now)
    room = limit - Dialogue.objects.filter(waiting, state__in=_PRODUCTION).count()
    if room <= 0:
        return []
    return list(Dialogue.objects.filter(due(now)).exclude(waiting).select_related("brief").order_by("pk")[:room])


def batch_progress(*, batch: Batch, now: datetime) -> BatchProgress:
    """Counts per state and stage, failures by cause, what it took and will take; six queries however large the batch."""
    dialogues = Dialogue.objects.filter(brief__batch=batch)
    row = Batch.objects.get(pk=batch.pk)
    states = _states(dialogues)
    waiting = sum(states.get(state, 0) for state in _PRODUCTION)
    off = row.cancelled_at is not None or row.stopped_at is not None
    return BatchProgress(
        total=sum(states.values()),
        states=states,
        stages=_stages(states),
        failures=_failures(dialogues),
        calls=row.calls_done,
        tokens=row.tokens_spent,
        cost=row.cost_spent or None,
        expected=_expected(dialogues, states, None if off else _time_left(dialogues, waiting, row.created, now)),
        cancelled=row.cancelled_at is not None,
        stopped=row.stopped_reason,
    )


def _stages(states: dict[str, int]) -> tuple[Stage, ...]:
    """Written, spoken, checked: a dialogue that has a stage behind it counts there, wherever it is now."""
    beyond = sum(count for state, count in states.items() if state not in {*_PRODUCTION, _FAILED})
    stages = []
    for state, _kind in reversed(_STAGES):
        stages.append(Stage(state, beyond))
        beyond += states.get(state, 0)
    return tuple(reversed(stages))


def _expected(dialogues: QuerySet[Dialogue], states: dict[str, int], left: timedelta | None) -> Expected:
    """Each stage by what it took of the dialogues that have it behind them; what failed ones took comes on top."""
    stages = _stages(states)
    unfinished = sum(states.get(state, 0) for state in _PRODUCTION)
    if not unfinished or not all(stage.done for stage in stages):
        return Expected(time=left)
    taken = _taken(dialogues)
    whole = stages[-1].done + unfinished
    calls, cost = Decimal(0), Decimal(0)
    for number, (stage, (_state, kind)) in enumerate(zip(stages, _STAGES, strict=True)):
        ahead = [state for state, _kind in _STAGES[: number + 1]]
        for each in taken:
            if each.kind == kind and each.state not in ahead:
                times = Decimal(1) if each.state == _FAILED else Decimal(whole) / stage.done
                calls, cost = calls + each.calls * times, cost + each.cost * times
    spent = (sum(each.calls for each in taken), sum((each.cost for each in taken), Decimal(0)))
    return Expected(calls=max(round(calls), spent[0]), cost=max(cost, spent[1]) or None, time=left)


class _Taken(NamedTuple):
    """What calls of a kind took of the dialogues that are now in a state."""

    kind: str
    state: str
    calls: int
    cost: Decimal


def _taken(dialogues: QuerySet[Dialogue]) -> list[_Taken]:
    rows = (
        ProviderCall.objects.filter(dialogue__in=dialogues.order_by())
        .order_by()
        .values_list("kind", "dialogue__state")
        .annotate(Count("pk"), Sum("cost"))
    )
    return [_Taken(kind, str(state), calls, cost or Decimal(0)) for kind, state, calls, cost in rows]


@dataclass(frozen=True)
class Spent:
    """What several batches together took so far; ``cost_expected`` what they will have taken in the end."""

    states: dict[str, int]
    calls: int
    cost: Decimal | None
    cost_expected: Decimal | None
    stopped: tuple[str, ...]


def batches_spent(*, dialogues: QuerySet[Dialogue]) -> Spent:
    """Where these dialogues are and what their batches took; three queries, and one of the ledger while some are unfinished."""
    states = _states(dialogues)
    batches = Batch.objects.filter(briefs__dialogues__in=dialogues.order_by()).distinct()
    rows = list(batches.values_list("calls_done", "cost_spent", "stopped_reason"))
    cost = sum((row[1] for row in rows), Decimal(0))
    expected = _expected(dialogues, states, None).cost if cost else None
    return Spent(states, sum(row[0] for row in rows), cost or None, expected, tuple(row[2] for row in rows if row[2]))


def batches_open(*, dialogues: QuerySet[Dialogue]) -> list[Batch]:
    """The batches of these dialogues that are neither finished nor called off."""
    unfinished = dialogues.order_by().filter(state__in=_PRODUCTION)
    return list(Batch.objects.filter(briefs__dialogues__in=unfinished, cancelled_at=None).distinct())


def batches_listed(*, corpus_uid: str = "") -> QuerySet[Batch]:
    """Batches, newest first, with ``total``, ``waiting`` and ``failed`` counted; one query."""
    found = (
        Batch.objects.select_related("corpus", "created_by")
        .annotate(
            total=Count("briefs__dialogues"),
            waiting=Count("briefs__dialogues", filter=Q(briefs__dialogues__state__in=_PRODUCTION)),
            failed=Count("briefs__dialogues", filter=Q(briefs__dialogues__state=_FAILED)),
        )
        .order_by("-created", "-pk")
    )
    return found.filter(corpus__uid=corpus_uid) if corpus_uid else found


def production_now(*, now: datetime) -> dict[str, int | timedelta | None]:
    """What the strip under the top line says: how many dialogues are being made, how many failed, how long it takes."""
    dialogues = Dialogue.objects.filter(
        brief__batch__cancelled_at=None, brief__batch__stopped_at=None, brief__isnull=False
    )
    states = _states(dialogues)
    waiting = sum(states.get(state, 0) for state in _PRODUCTION)
    left = _time_left(dialogues, waiting, now - RATE_WINDOW, now) if waiting else None
    return {"waiting": waiting, "failed": states.get(_FAILED, 0), "time_left": left}


def _states(dialogues: QuerySet[Dialogue]) -> dict[str, int]:
    rows: Sequence[tuple[str, int]] = dialogues.order_by().values_list("state").annotate(count=Count("pk"))  # type: ignore[assignment]
    return dict(rows)


def _failures(dialogues: QuerySet[Dialogue]) -> tuple[Failure, ...]:
    failed = dialogues.filter(state=_FAILED).order_by()
    counts = failed.values("error_cause").annotate(count=Count("pk")).order_by("-count", "error_cause")
    examples = dict(failed.order_by("-pk").values_list("error_cause", "error")[:50])
    return tuple(Failure(row["error_cause"], row["count"], examples.get(row["error_cause"], "")) for row in counts)


def _time_left(dialogues: QuerySet[Dialogue], waiting: int, began: datetime, now: datetime) -> timedelta | None:
    """From the rate of the last ten minutes."""
    since = max(began, now - RATE_WINDOW)
    ready = [DialogueState.READY.value, DialogueState.FLAGGED.value]
    finished = dialogues.filter(state__in=ready, updated__gte=since).count()
    if not finished or not waiting:
        return None
    return (now - since) / finished * waiting
