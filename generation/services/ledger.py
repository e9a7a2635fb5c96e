"""The ledger of calls: every one is written down; one that succeeded is never paid for again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeVar

from django.db import IntegrityError, transaction

from eqstudio.errors import ProviderError, Refused, Retry, StudioError
from eqstudio.net import redact
from eqstudio.prepared import Prepared, row_insert
from generation.models import Dialogue, ProviderCall
from generation.providers.answers import UNREADABLE
from generation.providers.base import DROPPED, RATE_LIMITED, UNREACHABLE, Usage
from generation.services.budgets import call_count, call_reserve, call_return
from generation.services.gates import call_permit, gate_close, gate_pass
from generation.services.leases import lease_renew


class Answer(Protocol):
    """What every provider's result has."""

    @property
    def model(self) -> str: ...
    @property
    def usage(self) -> Usage: ...


A = TypeVar("A", bound=Answer)
UNUSABLE = "unusable"
"""The cause of a call whose answer came but was no good."""
ANSWERED_BADLY = frozenset({"truncated", "not JSON", "wrong schema", "empty", UNREADABLE, UNUSABLE})
"""Causes of calls that were answered, only not with what was asked for: another draw may go better."""
RIDE_OUT_S = (0.2, 0.8)
"""After these pauses a call is made again that never reached the provider, or that the provider dropped."""
SHORT_MS = 5000
"""A failure that took longer is left to the step, which comes back later and lets others work meanwhile."""


@dataclass(frozen=True)
class Request:
    """A call as the ledger knows it: ``content`` is everything that shapes the answer and makes the hash."""

    kind: str
    provider: str
    model: str
    content: dict[str, Any]
    seed: int | None = None
    prompt_version: str = ""
    prompt_hash: str = ""
    dialogue: Dialogue | None = None
    parameters: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def hash(self) -> str:
        return content_hash(
            {"kind": self.kind, "provider": self.provider, "model": self.model, "seed": self.seed, **self.content}
        )


def content_hash(content: Any) -> str:
    """SHA-256 of the canonical JSON of ``content``."""
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def call_find(request: Request) -> ProviderCall | None:
    """The call that answered this very request, if there was one."""
    return _BY_REQUEST.first(kind=request.kind, request_hash=request.hash)


_BY_REQUEST = Prepared[ProviderCall](
    lambda kind, request_hash: ProviderCall.objects.filter(kind=kind, request_hash=request_hash, outcome="ok").order_by(
        "pk"
    )
)


@lru_cache(maxsize=64)
def _by_requests(count: int) -> Prepared[ProviderCall]:
    names = [f"hash_{number}" for number in range(count)]
    return Prepared[ProviderCall](
        lambda kind, **hashes: ProviderCall.objects.filter(
            kind=kind, request_hash__in=[hashes[name] for name in names], outcome="ok"
        ).order_by(),
        names=["kind", *names],
    )


def calls_find(requests: Iterable[Request]) -> dict[str, ProviderCall]:
    """The calls that answered these requests (of one kind), by hash; one query."""
    wanted = list(requests)
    hashes = {request.hash for request in wanted}
    if not hashes:
        return {}
    given = {f"hash_{number}": request_hash for number, request_hash in enumerate(hashes)}
    found = _by_requests(len(hashes)).rows(kind=wanted[0].kind, **given)
    return {call.request_hash: call for call in found}


def call_make(request: Request, call: Callable[[], A]) -> tuple[A, int]:
    """Ask the provider outside any transaction; a failure is written to the ledger and raised again.

    Returns the answer and how many milliseconds it took. Side effects: a slot of the provider while the call lasts, a
    renewed lease, the count of the batch, and, when the provider asks for fewer calls, a closed gate for all workers. Busy,
    BudgetSpent or Conflict (the lease was lost) come before the call is made; short failures of the provider's are ridden
    out, each with a row of its own. An answer that a provider's code trips over is a ProviderError as well; whatever else
    goes wrong in a call is written down and raised as it is. A call that could not be begun (InvalidInput) costs nothing.
    """
    for pause_s in RIDE_OUT_S:
        try:
            return _ask(request, call)
        except ProviderError as error:
            if not _short(error):
                raise
        time.sleep(pause_s)
    return _ask(request, call)


def _ask(request: Request, call: Callable[[], A]) -> tuple[A, int]:
    with call_permit():  # first of all: what is looked at before one waits is not so any more when the wait is over
        if request.dialogue is not None:
            lease_renew(dialogue=request.dialogue)
        with gate_pass(kind=request.kind, alias=request.provider):
            call_reserve(dialogue=request.dialogue)
            started = time.monotonic()
            try:
                return call(), _since(started)
            except ProviderError as error:
                failure = error
            except StudioError:
                call_return(dialogue=request.dialogue)
                raise
            except Exception as error:  # noqa: BLE001 -- it may have been paid for, so it is written down first
                failure = _tripped(request, error)
            failure.usage = replace(failure.usage or Usage(), latency_ms=_since(started))
            if failure.cause == RATE_LIMITED and isinstance(failure.decision, Retry):
                gate_close(kind=request.kind, alias=request.provider, after_s=failure.decision.after_s)
    _write(
        request,
        outcome="refused" if isinstance(failure, Refused) else "error",
        usage=failure.usage,
        error=redact(failure.message),
        result={"cause": failure.cause},
    )
    if failure.cause == _BROKEN and failure.__cause__ is not None:
        raise failure.__cause__
    raise failure


_ANSWER_SHAPED = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
_BROKEN = "broken"


def _tripped(request: Request, error: Exception) -> ProviderError:
    """What an error that no provider foresaw makes of a call: most such answers have another form than was agreed."""
    failure = ProviderError(
        f"The answer of {request.provider} cannot be read ({type(error).__name__}: {error}).",
        cause=UNREADABLE if isinstance(error, _ANSWER_SHAPED) else _BROKEN,
        decision=Retry(0),
    )
    failure.__cause__ = error
    return failure


def _short(error: ProviderError) -> bool:
    passing = error.cause in {UNREACHABLE, DROPPED} or error.cause.startswith("HTTP 5")
    return isinstance(error.decision, Retry) and passing and error.usage.latency_ms < SHORT_MS


def call_settle(request: Request, answer: Answer, *, latency_ms: int, result: dict[str, Any]) -> ProviderCall:
    """Write the ``ok`` row. If another process settled the same request meanwhile, its row counts and ours is written
    beside it as an error, so that the cost is not lost.
    """
    usage = Usage(
        tokens_in=answer.usage.tokens_in,
        tokens_out=answer.usage.tokens_out,
        latency_ms=answer.usage.latency_ms or latency_ms,
        cost=answer.usage.cost,
    )
    try:
        return _write(request, outcome="ok", usage=usage, result=result, model=answer.model)
    except IntegrityError:
        _write(request, outcome="error", usage=usage, error="Another process got the same answer first.", result=result)
    return ProviderCall.objects.get(kind=request.kind, request_hash=request.hash, outcome="ok")


def call_spoil(request: Request, answer: Answer, *, latency_ms: int, error: str) -> None:
    """Write down an answer that came, and cost, but cannot be used."""
    usage = Usage(
        answer.usage.tokens_in, answer.usage.tokens_out, answer.usage.latency_ms or latency_ms, answer.usage.cost
    )
    _write(request, outcome="error", usage=usage, error=error, result={"cause": UNUSABLE}, model=answer.model)


@transaction.atomic
def _write(
    request: Request, *, outcome: str, usage: Usage, result: dict[str, Any], error: str = "", model: str = ""
) -> ProviderCall:
    row = row_insert(
        ProviderCall(
            kind=request.kind,
            provider=request.provider,
            model=(model or request.model)[:120],
            request_hash=request.hash,
            parameters=request.parameters,
            prompt_version=request.prompt_version,
            prompt_hash=request.prompt_hash,
            seed=request.seed,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            latency_ms=usage.latency_ms,
            cost=usage.cost,
            outcome=outcome,
            error=error,
            result=result,
            dialogue=request.dialogue,
        )
    )
    call_count(dialogue=request.dialogue, tokens=(usage.tokens_in or 0) + (usage.tokens_out or 0), cost=usage.cost)
    return row


def _since(started: float) -> int:
    return int((time.monotonic() - started) * 1000)
