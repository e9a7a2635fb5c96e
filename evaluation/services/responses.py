"""Answers: stored raw first, read and scored after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction

from eqstudio.benchmarks.base import Outcome
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.payload import storable
from evaluation.models import Respondent, Response, Sitting, TrialRecord
from evaluation.services.hearing import unheard_in
from evaluation.services.participants import consent_check
from evaluation.services.scoring import response_score
from evaluation.services.sittings import key_access_mark

MAX_RAW = 200_000
FAILURES = {"", Outcome.REFUSED.value, Outcome.ERROR.value, Outcome.NOT_HEARD.value}


def response_record(
    *,
    trial: TrialRecord,
    raw: str,
    failure: str = "",
    error: str = "",
    heard: Mapping[str, Any] | None = None,
    paradata: Mapping[str, Any] | None = None,
) -> Response:
    """Store one answer, then read and score it. A second answer to the same question returns the first.

    The raw answer is committed before it is parsed. A person must have heard every clip of the question to the study's
    share (InvalidInput, field ``heard``) and have given the consent that is asked (Conflict); their answers are numbered in the order given. Inserts one Response and one ScoreRecord.
    """
    existing = trial.responses.first()
    if existing is not None:
        return existing
    sitting = trial.sitting
    if sitting.state != Sitting.State.OPEN:
        raise Conflict("This sitting is over; it takes no more answers. What was answered is kept.")
    if failure not in FAILURES:
        raise InvalidInput(f"Unknown failure {failure!r}; known: error, not_heard, refused.", field="failure")
    if sitting.respondent.user is not None:
        key_access_mark(sitting=sitting, user=sitting.respondent.user)
    if sitting.respondent.kind == Respondent.Kind.PERSON:
        consent_check(sitting=sitting)
        if not failure:
            _gate(trial, {} if heard is None else heard)
        paradata = {**(paradata or {}), "order": sitting.trials.filter(responses__isnull=False).count() + 1}
    return response_store(trial=trial, raw=raw, failure=failure, error=error, heard=heard, paradata=paradata)


def response_store(
    *,
    trial: TrialRecord,
    raw: str,
    failure: str = "",
    error: str = "",
    heard: Mapping[str, Any] | None = None,
    paradata: Mapping[str, Any] | None = None,
) -> Response:
    """Insert one Response, commit it, then score it. Without the checks of ``response_record``: for answers from files."""
    try:
        with transaction.atomic():
            response = Response.objects.create(
                trial=trial,
                raw=storable(raw[:MAX_RAW]),
                failure=failure,
                error=storable(error),
                heard=dict(heard or {}),
                paradata=storable(paradata or {}),
            )
    except IntegrityError:
        return trial.responses.get()
    response_score(response=response)
    return response


def _gate(trial: TrialRecord, heard: Mapping[str, Any]) -> None:
    share = trial.sitting.respondent.study.gate_share
    missing = unheard_in(trial=trial, heard=heard, share=share)
    if missing:
        raise InvalidInput(
            f"Please listen to at least {share:.0%} of every clip first. Still to hear: {', '.join(missing)}.",
            field="heard",
        )
