"""The exam for people: instructions first, then one question a page. What is asked next is the benchmark's business."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST
from pydantic import Field

from eqstudio.benchmarks.base import Outcome, Trial
from eqstudio.errors import InvalidInput, NotFound
from eqstudio.payload import Payload, payload_read
from evaluation.models import Sitting, TrialRecord
from evaluation.selectors import sitting_for, sitting_progress, study_for, trial_for
from evaluation.services import response_record, sitting_open, trial_next
from generation.media import clip_card
from generation.models import Variant
from generation.selectors import variants_by_uid

LONGEST_ANSWER = 20_000


class Paradata(Payload):
    """How the answer came about: times by the page's clock, plays by clip, changes of mind, losses of focus."""

    shown_at: str = Field(max_length=40)
    first_play_at: str = Field(default="", max_length=40)
    submitted_at: str = Field(max_length=40)
    plays: dict[str, int] = {}
    changes: int = Field(default=0, ge=0)
    focus_losses: int = Field(default=0, ge=0)
    active_ms: int = Field(default=0, ge=0)


class Answer(Payload):
    """An answer as the page sends it. Without one, ``failure`` says that a clip could not be heard."""

    trial: str
    client_key: str = Field(min_length=1, max_length=64)
    answer: str | int | None = None
    failure: str = ""
    error: str = Field(default="", max_length=400)
    heard: dict[str, list[list[float]]] = {}
    paradata: Paradata


@require_POST
def sit_start(request: HttpRequest, uid: str) -> HttpResponse:
    """Begin the exam, or go on with it."""
    study = study_for(request.user, uid)  # type: ignore[arg-type]
    return redirect("sit", sitting_open(study=study, user=request.user).uid)  # type: ignore[arg-type]


@require_GET
@never_cache
@ensure_csrf_cookie
def sit(request: HttpRequest, uid: str) -> HttpResponse:
    """The instructions before the first question; after that the question that waits, on whatever device."""
    sitting = sitting_for(request.user, uid)  # type: ignore[arg-type]
    context = _context(sitting)
    begun = context["progress"].answers or request.session.get(_begun(sitting))
    if not begun and sitting.state == Sitting.State.OPEN:
        return render(request, "evaluation/sit_instructions.html", context)
    return render(request, "evaluation/sit.html", {**context, **question_context(sitting), "words": sit_words()})


@require_POST
def sit_begin(request: HttpRequest, uid: str) -> HttpResponse:
    """The instructions have been read."""
    sitting = sitting_for(request.user, uid)  # type: ignore[arg-type]
    request.session[_begun(sitting)] = True
    return redirect("sit", sitting.uid)


@require_POST
def sit_answer(request: HttpRequest, uid: str) -> JsonResponse:
    """Store the answer and return the next question. Sent twice it is stored once."""
    sitting = sitting_for(request.user, uid)  # type: ignore[arg-type]
    sent = payload_read(request, Answer)
    record = trial_for(request.user, sent.trial)  # type: ignore[arg-type]
    if record.sitting_id != sitting.pk:
        raise NotFound(_("There is no such question in this sitting."))
    if not record.responses.exists():
        answer_check(Trial.from_dict(record.shown), sent)
    response_record(
        trial=record,
        raw="" if sent.failure else json.dumps({"answer": sent.answer}, ensure_ascii=False),
        failure=sent.failure,
        error=sent.error,
        heard=sent.heard,
        paradata={**sent.paradata.model_dump(), "client_key": sent.client_key, "device": device_of(request)},
    )
    context = {**_context(sitting), **question_context(sitting)}
    html = render_to_string("evaluation/sit_question.html", context, request)
    return JsonResponse({"sitting": sitting.uid, "html": html})


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
    return "phone" if "Mobi" in request.headers.get("user-agent", "") else "computer"


def question_context(sitting: Sitting) -> dict[str, Any]:
    """The question that waits, as shown, with its clips under opaque addresses; nothing when the exam is over."""
    record = trial_next(sitting=sitting)
    progress = sitting_progress(sitting=sitting)
    context = {"progress": progress, "number": min(progress.done + 1, progress.total)}
    return context if record is None else {**context, **_question(record)}


def _question(record: TrialRecord) -> dict[str, Any]:
    trial = Trial.from_dict(record.shown)
    uids = [part.variant for part in trial.context if part.variant] + [
        part.variant for part in trial.options if part.variant
    ]
    variants = variants_by_uid(uids=uids)
    user = record.sitting.respondent.user
    holder = user.uid if user else ""
    low, high = trial.scale or (1, 0)
    question, *anchors = trial.question.splitlines() or [""]
    return {
        "record": record,
        "trial": trial,
        "scenario": trial.scenario.splitlines(),
        "question": question,
        "anchors": anchors,
        "segments": [
            {
                "name": _("line %(number)s") % {"number": number},
                "speaker": segment.speaker,
                "text": segment.text,
                "uid": segment.variant,
                "card": _card(variants, segment.variant, holder),
            }
            for number, segment in enumerate(trial.context, start=1)
        ],
        "options": [
            {
                "letter": option.letter,
                "text": option.text,
                "uid": option.variant,
                "card": _card(variants, option.variant, holder),
            }
            for option in trial.options
        ],
        "grades": list(range(low, high + 1)),
        "data": {"trial": record.uid, "number": bool(trial.scale)},
    }


def _card(variants: dict[str, Variant], uid: str | None, holder: str) -> Any:
    variant = variants.get(uid or "")
    return clip_card(clip=variant.clip, holder=holder) if variant and variant.clip else None


def _context(sitting: Sitting) -> dict[str, Any]:
    study = sitting.respondent.study
    language = "zh" if (get_language() or "en").startswith("zh") else "en"
    instructions = study.instructions.get(language) or study.instructions.get("en", "")
    return {
        "sitting": sitting,
        "study": study,
        "instructions": instructions,
        "progress": sitting_progress(sitting=sitting),
    }


def _begun(sitting: Sitting) -> str:
    return f"sitting-begun-{sitting.uid}"


def sit_words() -> dict[str, str]:
    """What the page says by itself, in the language of the interface."""
    return {
        "hear": _("Hear {what}"),
        "choose": _("Choose an answer"),
        "write": _("Write an answer"),
        "submit": _("Submit"),
        "sending": _("Saving…"),
        "waiting": _("Waiting to be sent"),
        "wait": _("Your answer is kept in this browser. The next question comes when it has been sent."),
        "failed": _("That did not work: {message} What you entered is kept."),
        "notHeard": _("If {what} cannot be played here, you can go on without an answer. It is counted as not heard."),
        "goOn": _("Go on without an answer"),
    }
