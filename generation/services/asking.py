"""One structured question to a text model, through the ledger: what was paid for already is not asked again."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import BaseModel, ValidationError

from eqstudio.benchmarks import Benchmark
from eqstudio.benchmarks.base import BriefSpec, Prompt
from eqstudio.benchmarks.stages import REGENERATIONS
from eqstudio.errors import GiveUp, ProviderError, Retry
from generation.models import Brief, Dialogue, ProviderCall
from generation.providers import TextProvider, TextResult
from generation.providers.text.chat import faults
from generation.services.leases import LEASE, lease_extend, lease_lost, lease_renew
from generation.services.ledger import (
    ANSWERED_BADLY,
    UNUSABLE,
    Request,
    call_find,
    call_make,
    call_settle,
    call_spoil,
    content_hash,
)
from generation.services.seeds import dialogue_seed


@dataclass(frozen=True)
class Desk:
    """All that the questions about one dialogue share."""

    dialogue: Dialogue
    brief: Brief
    benchmark: Benchmark
    provider: TextProvider
    spec: BriefSpec


def asked(desk: Desk, prompt: Prompt, schema: type[BaseModel], purpose: str) -> ProviderCall:
    """The ledger row that answers this request: the one that is there, or a new one. Its seed follows from ``purpose``.

    Side effects: a renewed lease; a ledger row, also for an answer that does not fit ``schema`` (a ProviderError then).
    The dialogue's attempts start over once there is an answer.
    """
    request = _request(desk, prompt, schema, purpose)
    kept = call_find(request)
    if kept is not None:
        return kept
    lease_renew(dialogue=desk.dialogue)
    answer, latency_ms = call_make(
        request,
        lambda: desk.provider.write(
            prompt=prompt,
            schema=schema,
            seed=request.seed or 0,
            brief=desk.spec,
            ordinal=desk.dialogue.ordinal,
            benchmark=desk.dialogue.benchmark,
        ),
    )
    _fit(request, answer, schema, latency_ms)
    with transaction.atomic():
        result = {"script": answer.script, "purpose": purpose}
        call = call_settle(request, answer, latency_ms=latency_ms, result=result)
        held = lease_extend(dialogue=desk.dialogue, until=timezone.now() + LEASE, progress=True)
    if not held:
        raise lease_lost()
    return call


def asked_again(desk: Desk, prompt: Prompt, schema: type[BaseModel], purpose: str) -> ProviderCall:
    """As ``asked``, but an answer that cannot be read is asked for again with another seed, a bounded number of times."""
    failure: ProviderError | None = None
    for again in range(REGENERATIONS + 1):
        seeded = f"{purpose}:{again}"
        seed = dialogue_seed(desk.dialogue, seeded)
        spoilt = desk.dialogue.calls.filter(seed=seed, outcome="error", result__cause__in=ANSWERED_BADLY)
        if again < REGENERATIONS and spoilt.exists():
            continue
        try:
            return asked(desk, prompt, schema, seeded)
        except ProviderError as error:
            if error.cause not in ANSWERED_BADLY:
                raise
            failure = error
    raise ProviderError(
        _("The judge gave no verdict. %(error)s") % {"error": failure.message if failure else ""},
        cause=failure.cause if failure else UNUSABLE,
        decision=GiveUp(),
    )


def _request(desk: Desk, prompt: Prompt, schema: type[BaseModel], purpose: str) -> Request:
    prompt_hash = content_hash({"system": prompt.system, "user": prompt.user, "version": prompt.version})
    return Request(
        kind="text",
        provider=desk.brief.text_provider,
        model=desk.provider.model,
        content={
            "parameters": desk.provider.parameters(),
            "prompt": prompt_hash,
            "schema": schema.__name__,
            "benchmark": desk.brief.benchmark,
            "category": desk.brief.category,
            "language": desk.brief.language,
            "purpose": purpose,
        },
        seed=dialogue_seed(desk.dialogue, purpose),
        prompt_version=prompt.version,
        prompt_hash=prompt_hash,
        dialogue=desk.dialogue,
        parameters=desk.provider.parameters(),
    )


def _fit(request: Request, answer: TextResult, schema: type[BaseModel], latency_ms: int) -> None:
    try:
        schema.model_validate(answer.script)
    except ValidationError as error:
        message = _("The answer does not fit what was asked for: %(error)s") % {"error": faults(error)}
        call_spoil(request, answer, latency_ms=latency_ms, error=message)
        raise ProviderError(message, cause=UNUSABLE, decision=Retry(0)) from error
