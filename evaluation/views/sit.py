"""The exam for people: every page of a sitting, and the answer to a question. What is asked next is the benchmark's business."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST
from pydantic import Field

from annotation.views.headphones import check_context
from eqstudio.access import guests_welcome
from eqstudio.benchmarks.base import Outcome, Trial
from eqstudio.errors import Conflict, InvalidInput, NotFound
from eqstudio.payload import Payload, payload_read
from evaluation.domain.flow import Stage, stages_of
from evaluation.domain.protocol import Protocol
from evaluation.models import Participant, Sitting
from evaluation.selectors import protocol_of, sitting_for, sitting_progress, study_for, trial_for
from evaluation.selectors.participants import answered_anything, stage_of
from evaluation.services import response_record, sitting_open
from evaluation.services.feedback import practice_feedback
from evaluation.services.participants import participant_ensure, sitting_settle
from evaluation.views.sit_question import page_language, question_context, sitting_context
from evaluation.words_people import OUTCOME_WORDS, SCREENED_OUT, demographic_questions

LONGEST_ANSWER = 20_000


class Paradata(Payload):
    """How the answer came about: times by the page's clock, plays by clip, changes of mind, losses of focus, pasted text."""

    shown_at: str = Field(max_length=40)
    first_play_at: str = Field(default="", max_length=40)
    submitted_at: str = Field(max_length=40)
    plays: dict[str, int] = {}
    changes: int = Field(default=0, ge=0)
    focus_losses: int = Field(default=0, ge=0)
    pastes: int = Field(default=0, ge=0)
    active_ms: int = Field(default=0, ge=0)


class Answer(Payload):
    """An answer as the page sends it. Without one, ``failure`` says that a clip could not be heard."""

    trial: str
    client_key: str = Field(min_length=1, max_length=64)
    answer: str | int | None = None
    confidence: int | None = Field(default=None, ge=1, le=5)
    comment: str = Field(default="", max_length=2000)
    failure: str = ""
    error: str = Field(default="", max_length=400)
    heard: dict[str, list[list[float]]] = {}
    paradata: Paradata


@require_POST
def sit_start(request: HttpRequest, uid: str) -> HttpResponse:
    """Begin the exam, or go on with it."""
    study = study_for(request.user, uid)  # type: ignore[arg-type]
    return redirect("sit", sitting_open(study=study, user=request.user).uid)  # type: ignore[arg-type]


@guests_welcome
@require_GET
@never_cache
@ensure_csrf_cookie
def sit(request: HttpRequest, uid: str) -> HttpResponse:
    """The page that is this person's turn, on whatever device: everything that comes before the first question, the question
    that waits, and what comes after the last.
    """
    sitting = sitting_for(request.user, uid)  # type: ignore[arg-type]
    participant = participant_ensure(respondent=sitting.respondent)
    return _PAGES[stage_now(sitting, participant)](request, sitting, participant)


def stage_now(sitting: Sitting, participant: Participant) -> Stage:
    """Where the person stands; what came of a sitting that is through is settled here."""
    stage = stage_of(participant=participant, sitting=sitting)
    if stage is Stage.OVER and not participant.outcome:
        participant.refresh_from_db()
        sitting_settle(sitting=sitting)
        participant.refresh_from_db()
    return stage


def step_page(
    request: HttpRequest, sitting: Sitting, participant: Participant, stage: Stage, *, status: int = 200, **more: Any
) -> HttpResponse:
    """A page before or after the questions, with how far along the way it is."""
    protocol = protocol_of(sitting.respondent.study)
    stages = [one for one in stages_of(protocol) if one is not Stage.OVER]
    consent = protocol.recruitment.consent
    context = {
        **sitting_context(sitting),
        "participant": participant,
        "protocol": protocol,
        "consent": consent.text.get(page_language()) or next(iter(consent.text.values()), ""),
        "dialogues": dialogues_ahead(sitting, protocol),
        "place": stages.index(stage) + 1 if stage in stages else 0,
        "places": len(stages),
        **more,
    }
    return render(request, f"evaluation/sit_{stage.value}.html", context, status=status)


def dialogues_ahead(sitting: Sitting, protocol: Protocol) -> int:
    """How many dialogues the person will be asked: what is planned, else what the protocol says."""
    total = sitting_progress(sitting=sitting).total
    execution = protocol.execution
    if execution.per_sitting is None or sitting.plan.exists():
        return total + (0 if sitting.plan.exists() else execution.attention + min(execution.repeats, total // 2))
    own = min(total, execution.per_sitting)
    return own + execution.attention + min(execution.repeats, own // 2)


def _headphones(request: HttpRequest, sitting: Sitting, participant: Participant) -> HttpResponse:
    return step_page(request, sitting, participant, Stage.HEADPHONES, **check_context(request))


def _details(request: HttpRequest, sitting: Sitting, participant: Participant) -> HttpResponse:
    asked = protocol_of(sitting.respondent.study).recruitment.demographics
    return step_page(request, sitting, participant, Stage.DETAILS, questions=demographic_questions(asked))


def _exam(request: HttpRequest, sitting: Sitting, participant: Participant) -> HttpResponse:
    try:
        question = question_context(request, sitting)
    except Conflict as error:
        return step_page(request, sitting, participant, Stage.INSTRUCTIONS, status=error.status, error=error)
    if sitting.state != Sitting.State.OPEN:
        return _PAGES[stage_now(sitting, participant)](request, sitting, participant)
    context = {**sitting_context(sitting), **question, "participant": participant, "words": sit_words()}
    return render(request, "evaluation/sit.html", context)


def _over(request: HttpRequest, sitting: Sitting, participant: Participant) -> HttpResponse:
    return render(request, "evaluation/sit_over.html", {**sitting_context(sitting), **over_context(participant)})


def _step(stage: Stage) -> Callable[[HttpRequest, Sitting, Participant], HttpResponse]:
    def page(request: HttpRequest, sitting: Sitting, participant: Participant) -> HttpResponse:
        return step_page(request, sitting, participant, stage)

    return page


_PAGES: dict[Stage, Callable[[HttpRequest, Sitting, Participant], HttpResponse]] = {
    Stage.ELIGIBILITY: _step(Stage.ELIGIBILITY),
    Stage.CONSENT: _step(Stage.CONSENT),
    Stage.NO_AI: _step(Stage.NO_AI),
    Stage.HEADPHONES: _headphones,
    Stage.INSTRUCTIONS: _step(Stage.INSTRUCTIONS),
    Stage.EXAM: _exam,
    Stage.DETAILS: _details,
    Stage.OVER: _over,
}


def over_context(participant: Participant) -> dict[str, Any]:
    """What came of the sitting, the completion code that the server issued for it, and the way back."""
    issued = participant.completion_codes.filter(outcome=participant.outcome).first()
    invitation = participant.invitation
    code = issued.code if issued else ""
    back = invitation.return_url.replace("{code}", code) if invitation and invitation.return_url else ""
    return {
        "participant": participant,
        "can_withdraw": participant.withdrawn_at is None and answered_anything(participant),
        "outcome": OUTCOME_WORDS.get(participant.outcome, ""),
        "why": SCREENED_OUT.get(participant.reason, ""),
        "completion": code if invitation else "",
        "back": back,
    }


@guests_welcome
@require_POST
def sit_answer(request: HttpRequest, uid: str) -> JsonResponse:
    """Store the answer and return the next question. Sent twice it is stored once."""
    sitting = sitting_for(request.user, uid)  # type: ignore[arg-type]
    sent = payload_read(request, Answer)
    record = trial_for(request.user, sent.trial)  # type: ignore[arg-type]
    if record.sitting_id != sitting.pk:
        raise NotFound(_("There is no such question in this sitting."))
    participant = participant_ensure(respondent=sitting.respondent)
    if not record.responses.exists():
        answer_check(Trial.from_dict(record.shown), sent)
    extras = {"confidence": sent.confidence, "comment": sent.comment.strip()}
    response = response_record(
        trial=record,
        raw="" if sent.failure else json.dumps({"answer": sent.answer}, ensure_ascii=False),
        failure=sent.failure,
        error=sent.error,
        heard=sent.heard,
        paradata={
            **sent.paradata.model_dump(),
            **{name: value for name, value in extras.items() if value not in (None, "")},
            "client_key": sent.client_key,
            "device": device_of(request),
        },
    )
    question = question_context(request, sitting)
    stage = stage_now(sitting, participant)
    context = {**sitting_context(sitting), **question, **over_context(participant), "more": stage is not Stage.OVER}
    found = {"sitting": sitting.uid, "html": render_to_string("evaluation/sit_question.html", context, request)}
    feedback = practice_feedback(response=response)
    if feedback is not None:
        found["feedback"] = render_to_string("evaluation/sit_feedback.html", {"feedback": feedback}, request)
    return JsonResponse(found)


def answer_check(trial: Trial, sent: Answer) -> None:
    """A page can only send what it offered; InvalidInput names the field."""
    if sent.failure:
        if sent.failure != Outcome.NOT_HEARD.value:
            raise InvalidInput(_("A person's question can only fail because it was not heard."), field="failure")
        return
    if trial.scale:
        offered = isinstance(sent.answer, int) and trial.scale[0] <= sent.answer <= trial.scale[1]
    elif trial.options:
        offered = sent.answer in {option.letter for option in trial.options}
    else:
        offered = isinstance(sent.answer, str) and 0 < len(sent.answer.strip()) <= LONGEST_ANSWER
    if not offered:
        raise InvalidInput(_("This is not one of the answers that were offered."), field="answer")


def device_of(request: HttpRequest) -> str:
    """A class of device, not a fingerprint."""
    agent = request.headers.get("user-agent", "")
    if "iPad" in agent or ("Android" in agent and "Mobi" not in agent):
        return "tablet"
    return "phone" if "Mobi" in agent else "computer"


def sit_words() -> dict[str, str]:
    """What the page says by itself, in the language of the interface."""
    return {
        "hear": _("Hear {what}"),
        "choose": _("Choose an answer"),
        "write": _("Write an answer"),
        "submit": _("Submit"),
        "next": _("Next"),
        "sending": _("Saving…"),
        "waiting": _("Waiting to be sent"),
        "wait": _("Your answer is kept in this browser. The next question comes when it has been sent."),
        "failed": _("That did not work: {message} What you entered is kept."),
        "notHeard": _("If {what} cannot be played here, you can go on without an answer. It is counted as not heard."),
        "goOn": _("Go on without an answer"),
    }
