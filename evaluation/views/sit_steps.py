"""What a person does on the pages round the questions: each step is one form, and leads back to the sitting."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import HeadphoneCheck
from annotation.views.headphones import check_answered, check_context
from eqstudio.access import guests_welcome
from eqstudio.errors import Conflict, InvalidInput, NotFound
from evaluation.domain.flow import Stage
from evaluation.models import Participant, Sitting
from evaluation.selectors import protocol_of, sitting_for
from evaluation.selectors.participants import stage_of
from evaluation.services.participants import (
    OWN_WISH,
    consent_record,
    details_store,
    eligibility_answer,
    headphones_fail,
    participant_ensure,
    sitting_settle,
    step_pass,
)
from evaluation.services.withdrawal import participant_withdraw
from evaluation.views.sit import step_page
from evaluation.views.sit_question import page_language, paused_key, sitting_context
from evaluation.words_people import demographic_questions


def _here(request: HttpRequest, uid: str) -> tuple[Sitting, Participant, Stage]:
    sitting = sitting_for(request.user, uid)  # type: ignore[arg-type]
    participant = participant_ensure(respondent=sitting.respondent)
    return sitting, participant, stage_of(participant=participant, sitting=sitting)


@guests_welcome
@require_POST
def sit_eligible(request: HttpRequest, uid: str) -> HttpResponse:
    """Whether the person is whom the study is for: every language it needs, and what it asks for besides.

    Being screened out is for good, so only an explicit no does it; a tick that was forgotten is asked for again.
    """
    sitting, participant, stage = _here(request, uid)
    if stage is not Stage.ELIGIBILITY:
        return redirect("sit", sitting.uid)
    said, speaks = request.POST.get("eligible", ""), set(request.POST.getlist("languages"))
    missing = set(protocol_of(participant.study).recruitment.languages) - speaks
    if said != "no" and (missing or said != "yes"):
        return step_page(request, sitting, participant, stage, status=422, speaks=speaks, unticked=bool(missing))
    eligibility_answer(participant=participant, eligible=said == "yes", language=get_language() or "en")
    return redirect("sit", sitting.uid)


@guests_welcome
@require_POST
def sit_consent(request: HttpRequest, uid: str) -> HttpResponse:
    sitting, participant, stage = _here(request, uid)
    if stage is Stage.CONSENT:
        agreed = request.POST.get("consent") == "yes"
        consent_record(participant=participant, agreed=agreed, language=page_language())
    return redirect("sit", sitting.uid)


@guests_welcome
@require_POST
def sit_no_ai(request: HttpRequest, uid: str) -> HttpResponse:
    sitting, participant, stage = _here(request, uid)
    if stage is Stage.NO_AI and request.POST.get("stated") == "yes":
        step_pass(participant=participant, step="no_ai")
    return redirect("sit", sitting.uid)


@guests_welcome
@require_POST
@never_cache
def sit_headphones(request: HttpRequest, uid: str) -> HttpResponse:
    """Score a headphone check; it is the same one that annotators make."""
    sitting, participant, stage = _here(request, uid)
    if stage is not Stage.HEADPHONES:
        return redirect("sit", sitting.uid)
    try:
        made = check_answered(request)
    except (InvalidInput, Conflict, NotFound) as error:
        status = error.status if error.status == Conflict.status else 422
        context = {**check_context(request), "error": error}
        return step_page(request, sitting, participant, Stage.HEADPHONES, status=status, **context)
    if made.passed:
        step_pass(participant=participant, step="headphones")
        return redirect("sit", sitting.uid)
    tries = HeadphoneCheck.objects.filter(annotator=made.annotator, created__gte=participant.joined).count()
    headphones_fail(participant=participant, tries=tries)
    if participant.outcome or participant.headphones_at is not None:
        return redirect("sit", sitting.uid)
    context = {**check_context(request), "failed": made}
    return step_page(request, sitting, participant, Stage.HEADPHONES, status=422, **context)


@guests_welcome
@require_POST
def sit_begin(request: HttpRequest, uid: str) -> HttpResponse:
    """The instructions have been read."""
    sitting, participant, stage = _here(request, uid)
    if stage is Stage.INSTRUCTIONS:
        step_pass(participant=participant, step="instructions")
    return redirect("sit", sitting.uid)


@guests_welcome
@require_POST
def sit_go_on(request: HttpRequest, uid: str) -> HttpResponse:
    """A break is over, or the practice was understood."""
    sitting, _participant, _stage = _here(request, uid)
    done = request.POST.get("done", "")
    if done.isdecimal():
        request.session[paused_key(sitting)] = int(done)
    return redirect("sit", sitting.uid)


@guests_welcome
@require_POST
def sit_details(request: HttpRequest, uid: str) -> HttpResponse:
    """What the person tells of themselves, or nothing."""
    sitting, participant, stage = _here(request, uid)
    if stage is not Stage.DETAILS:
        return redirect("sit", sitting.uid)
    asked = protocol_of(participant.study).recruitment.demographics
    given = {name: request.POST.get(name, "") for name in asked}
    try:
        details_store(participant=participant, answers=given)
    except InvalidInput as error:
        questions = demographic_questions(asked)
        return step_page(request, sitting, participant, Stage.DETAILS, status=422, questions=questions, error=error)
    sitting_settle(sitting=sitting)
    return redirect("sit", sitting.uid)


@guests_welcome
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def sit_withdraw(request: HttpRequest, uid: str) -> HttpResponse:
    """What it means to withdraw, and the button that does it; also after the sitting is over."""
    sitting, participant, _stage = _here(request, uid)
    if request.method == "POST":
        participant_withdraw(participant=participant, reason=OWN_WISH, actor=participant.respondent.user)
        return redirect("sit", sitting.uid)
    context = {**sitting_context(sitting), "participant": participant}
    return render(request, "evaluation/sit_withdraw.html", context)
