"""Where a person stands in a study: the one writer of ``Participant``, apart from joining and withdrawing."""

from __future__ import annotations

import hashlib
import secrets

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.ids import uid
from evaluation.domain.demographics import answers_read
from evaluation.domain.exclusions import finding
from evaluation.domain.flow import Stage, stages_of
from evaluation.models import (
    CompletionCode,
    Consent,
    Invitation,
    Participant,
    PersonalDetails,
    Respondent,
    Sitting,
)
from evaluation.selectors.exclusions import sittings_told
from evaluation.selectors.protocols import protocol_of

Outcome = Participant.Outcome
NO_CONSENT, NOT_ELIGIBLE, HEADPHONES, OWN_WISH, ON_REQUEST = (
    "no_consent",
    "not_eligible",
    "headphones",
    "own",
    "request",
)
HEADPHONE_TRIES = 3
"""Checks failed after which a person is screened out where headphones are required, and let on where they are only asked for."""


def code_new() -> str:
    """A pseudonymous code of three groups (about 59 bits), without look-alike letters."""
    text = uid()
    return "-".join((text[:4], text[4:8], text[8:12]))


def participant_ensure(
    *, respondent: Respondent, invitation: Invitation | None = None, identity: str = "", language: str = ""
) -> Participant:
    """The row of a person in a study, made on the first call."""
    found = Participant.objects.filter(respondent=respondent).first()
    if found is not None:
        return found
    try:
        with transaction.atomic():
            return Participant.objects.create(
                study=respondent.study,
                respondent=respondent,
                invitation=invitation,
                code=code_new(),
                identity=identity,
                language=language,
            )
    except IntegrityError:
        found = Participant.objects.filter(respondent=respondent).first()
        if found is None:
            raise
        return found


def participant_return(*, respondent: Respondent) -> None:
    """Whoever sat the pilot begins anew when it counts: what came of the pilot is no outcome. A withdrawal stands."""
    Participant.objects.filter(respondent=respondent, withdrawn_at=None).exclude(outcome="").update(
        outcome="", reason="", outcome_at=None, details_at=None, instructions_at=None
    )


def eligibility_answer(*, participant: Participant, eligible: bool, language: str) -> Participant:
    """What the person said of being eligible. Who is not is screened out."""
    participant.eligible, participant.language = eligible, language
    participant.save(update_fields=["eligible", "language"])
    return (
        participant
        if eligible
        else outcome_set(participant=participant, outcome=Outcome.SCREENED_OUT, reason=NOT_ELIGIBLE)
    )


def consent_record(*, participant: Participant, agreed: bool, language: str) -> Consent:
    """Keep what the person said to the consent text of now, in the version and language they read. Inserts one Consent and one
    Event. Who does not agree is asked nothing and counts as withdrawn.
    """
    consent = protocol_of(participant.study).recruitment.consent
    read = language if consent.text.get(language) else next(iter(consent.text), language)
    text = consent.text.get(read, "")
    with transaction.atomic():
        made = Consent.objects.create(
            participant=participant,
            version=consent.version,
            text_hash=hashlib.sha256(text.encode()).hexdigest(),
            language=read,
            agreed=agreed,
        )
        event_record(
            actor=participant.respondent.user,
            verb="consent_given" if agreed else "consent_refused",
            entity=participant,
            version=consent.version,
        )
    if not agreed:
        outcome_set(participant=participant, outcome=Outcome.WITHDRAWN, reason=NO_CONSENT)
    return made


def consent_check(*, sitting: Sitting) -> None:
    """Conflict where the study asks people for consent and this one has not given it, or said no last. One query, two where
    consent is asked.
    """
    if Stage.CONSENT not in stages_of(protocol_of(sitting.respondent.study)):
        return
    said = Consent.objects.filter(participant__respondent=sitting.respondent_id).order_by("pk").last()
    if said is None or not said.agreed:
        raise Conflict(_("Nothing is asked, and no answer taken, before you have agreed to take part."))


def step_pass(*, participant: Participant, step: str) -> Participant:
    """The person has gone past a step (``no_ai``, ``headphones``, ``instructions``, ``details``); the first time counts."""
    field = f"{step}_at"
    Participant.objects.filter(pk=participant.pk, **{field: None}).update(**{field: timezone.now()})
    participant.refresh_from_db(fields=[field])
    return participant


def headphones_fail(*, participant: Participant, tries: int) -> Participant:
    """After so many failed checks: screened out where headphones are required, else let on and marked by the rule."""
    if tries < HEADPHONE_TRIES:
        return participant
    if protocol_of(participant.study).execution.headphones == "required":
        return outcome_set(participant=participant, outcome=Outcome.SCREENED_OUT, reason=HEADPHONES)
    return step_pass(participant=participant, step="headphones")


def details_store(*, participant: Participant, answers: dict[str, str]) -> None:
    """Keep what the person told of themselves in the guarded table; every answer may be left out.

    InvalidInput names a question that was not asked or an answer that was not offered.
    """
    asked = protocol_of(participant.study).recruitment.demographics
    kept = answers_read(answers, asked)
    if participant.withdrawn_at is not None:
        raise Conflict(_("You have withdrawn; nothing more is kept of you."))
    with transaction.atomic():
        found, _created = PersonalDetails.objects.get_or_create(participant=participant)
        found.answers = kept
        found.save(update_fields=["answers"])
        step_pass(participant=participant, step="details")


def outcome_set(*, participant: Participant, outcome: Outcome, reason: str = "") -> Participant:
    """The only writer of an outcome: the first one stands. Issues its completion code, writes one Event."""
    with transaction.atomic():
        moved = Participant.objects.filter(pk=participant.pk, outcome="").update(
            outcome=outcome, reason=reason, outcome_at=timezone.now()
        )
        participant.refresh_from_db(fields=["outcome", "reason", "outcome_at"])
        if moved:
            completion_issue(participant=participant)
            event_record(
                actor=participant.respondent.user, verb="sitting_outcome", entity=participant, outcome=outcome.value
            )
    return participant


def completion_issue(*, participant: Participant) -> CompletionCode:
    """The code for what became of this person: the one all people of the invitation share, else one of their own."""
    if not participant.outcome:
        raise InvalidInput("A completion code belongs to an outcome.", field="outcome")
    shared = participant.invitation.codes.get(participant.outcome, "") if participant.invitation else ""
    own = secrets.token_hex(5).upper()
    found, _created = CompletionCode.objects.get_or_create(
        participant=participant, outcome=participant.outcome, defaults={"code": shared or own}
    )
    return found


def sitting_settle(*, sitting: Sitting) -> Participant:
    """What came of a sitting whose questions are over: complete, or failed attention where the protocol declares that rule."""
    participant = participant_ensure(respondent=sitting.respondent)
    if participant.outcome or sitting.state != Sitting.State.FINISHED:
        return participant
    study = sitting.respondent.study
    declared = {one.rule: one for one in protocol_of(study).analysis.exclusions}
    rule = declared.get("attention_failed")
    failed = False
    if rule is not None:
        sat = sittings_told(study=study, sittings=[sitting])[sitting.respondent_id]
        failed = finding(rule.rule, rule.threshold, sat).flagged
    return outcome_set(participant=participant, outcome=Outcome.FAILED_ATTENTION if failed else Outcome.COMPLETE)
