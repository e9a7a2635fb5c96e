"""Answers of a run go into the database many at once: raw first, then what was read from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import structlog
from django.db import IntegrityError, transaction

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Outcome, Parsed, Trial
from evaluation.backends import Answer
from evaluation.backends.speaking import reply_kept
from evaluation.models import Response, RunCall, RunPlan, ScoreRecord, Sitting, TrialRecord, TrialRetake
from evaluation.services.responses import MAX_RAW
from evaluation.services.runs_budget import calls_count
from evaluation.services.runs_cases import Case
from evaluation.services.scoring import score_version
from generation.providers.calls import cost

log = structlog.get_logger(__name__)


@dataclass(frozen=True, eq=False)
class Given:
    """An answer to the pending question of a case, or that there is none for good."""

    case: Case
    trial: Trial
    answer: Answer


@dataclass(frozen=True)
class Called:
    """One call as it goes into the ledger."""

    case: Case
    key: str
    outcome: str
    at: datetime
    latency_ms: int
    cause: str = ""
    error: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: Decimal | None = None


def called(case: Case, trial: Trial, answer: Answer, *, model: str, at: datetime, latency_ms: int) -> Called:
    """The ledger's line of a call that was answered: what the provider says it cost, else by the price list."""
    told = answer.paradata
    tokens_in, tokens_out = told.get("tokens_in"), told.get("tokens_out")
    priced = told.get("cost")
    dollars = Decimal(str(priced)) if priced is not None else cost(model, tokens_in=tokens_in, tokens_out=tokens_out)
    return Called(
        case=case,
        key=trial.key,
        outcome="refused" if answer.failure == Outcome.REFUSED else "ok",
        at=at,
        latency_ms=int(told.get("latency_ms") or latency_ms),
        error=answer.error,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=dollars,
    )


def answers_store(
    *, sitting: Sitting, plan: RunPlan, model: str, given: Sequence[Given], calls: Sequence[Called]
) -> list[Given]:
    """Commit answers and the ledger in one transaction, then read and score the answers in another. Spoken replies are kept as
    clips before.

    Returns the answers that are new, with their cases walked on to the next question. An answer that another worker gave
    first is dropped and its case left without a pending question; the ledger keeps the call.
    """
    given = [_sound_kept(one) for one in given]
    try:
        kept = _raw_store(sitting, plan, model, given, calls)
    except IntegrityError:
        kept = []
        for one in given:
            try:
                kept += _raw_store(sitting, plan, model, [one], [])
            except IntegrityError:
                log.info("somebody else had answered this first", dialogue=one.case.dialogue.uid, key=one.trial.key)
                one.case.pending = None
        _raw_store(sitting, plan, model, [], calls)
    return _scores_store(sitting, kept)


def _sound_kept(one: Given) -> Given:
    if not one.answer.sound:
        return one
    paradata = {**one.answer.paradata, **reply_kept(one.answer.sound)}
    return replace(one, answer=replace(one.answer, sound="", paradata=paradata))


@transaction.atomic
def _raw_store(
    sitting: Sitting, plan: RunPlan, model: str, given: Sequence[Given], calls: Sequence[Called]
) -> list[tuple[Given, Response]]:
    stale = [pk for one in given for pk in one.case.stale]
    if stale:
        TrialRetake.objects.bulk_create([TrialRetake(trial_id=pk) for pk in stale], ignore_conflicts=True)
    records = _records(sitting, given)
    responses = [
        Response(
            trial_id=record,
            raw=one.answer.raw[:MAX_RAW].replace("\x00", ""),
            failure=one.answer.failure,
            error=one.answer.error,
            heard={},
            paradata=_paradata(one, model),
        )
        for one, record in zip(given, records, strict=True)
    ]
    Response.objects.bulk_create(responses)
    _ledger(sitting, plan, calls)
    for one in given:
        one.case.stale.clear()
    return list(zip(given, responses, strict=True))


def _records(sitting: Sitting, given: Sequence[Given]) -> list[int]:
    """The questions as shown: stored together with their answers, but for those that were stored before."""
    made = {
        id(one): TrialRecord(
            sitting=sitting,
            dialogue_id=one.case.dialogue.pk,
            key=one.trial.key,
            take=one.case.takes.get(one.trial.key, 0),
            shown=one.trial.as_dict(),
        )
        for one in given
        if one.trial.key not in one.case.blank
    }
    TrialRecord.objects.bulk_create(made.values())
    return [made[id(one)].pk if id(one) in made else one.case.blank[one.trial.key] for one in given]


def _paradata(one: Given, model: str) -> dict[str, Any]:
    """What is worth a place beside the answer; what is as ever is left out."""
    tries = one.case.item.tries + (one.answer.failure != Outcome.ERROR)
    told = {**one.answer.paradata, "attempts": tries if tries > 1 else None}
    usual = {"finish_reason": "stop", "model": model}
    return {name: value for name, value in told.items() if value is not None and usual.get(name) != value}


def _ledger(sitting: Sitting, plan: RunPlan, calls: Sequence[Called]) -> None:
    if not calls:
        return
    RunCall.objects.bulk_create(
        RunCall(
            sitting=sitting,
            dialogue_id=call.case.dialogue.pk,
            key=call.key,
            outcome=call.outcome,
            cause=call.cause[:40],
            error=call.error,
            tokens_in=call.tokens_in,
            tokens_out=call.tokens_out,
            latency_ms=call.latency_ms,
            cost=call.cost,
            created=call.at,
        )
        for call in calls
    )
    calls_count(
        plan=plan,
        calls=len(calls),
        tokens=sum((call.tokens_in or 0) + (call.tokens_out or 0) for call in calls),
        cost=sum((call.cost or Decimal(0) for call in calls), Decimal(0)),
    )


def _scores_store(sitting: Sitting, kept: Sequence[tuple[Given, Response]]) -> list[Given]:
    benchmark = benchmark_get(sitting.respondent.study.benchmark)
    version = score_version(benchmark)
    rows, read = [], []
    for one, response in kept:
        failure = response.failure
        parsed = Parsed(Outcome(failure)) if failure else benchmark.parse(one.trial, response.raw)
        score = benchmark.score(one.case.whole.view, one.trial, parsed)
        rows.append(
            ScoreRecord(
                response=response,
                version=version,
                outcome=parsed.outcome.value,
                value="" if parsed.value is None else str(parsed.value),
                rule=parsed.rule,
                span=None if parsed.span is None else list(parsed.span),
                correct=score.correct,
                number=score.value,
                gold=score.gold,
            )
        )
        read.append((one, parsed))
    ScoreRecord.objects.bulk_create(rows, ignore_conflicts=True)
    for one, parsed in read:
        one.case.take_in(parsed)
        one.case.advance()
    return [one for one, _parsed in read]
