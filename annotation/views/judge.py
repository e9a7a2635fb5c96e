"""The judging page: one item at a time. Every answer to the page's script is JSON and safe to ask for twice."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST
from pydantic import Field

from annotation.models import Assignment, Judgement, Round
from annotation.selectors import judgement_for
from annotation.selectors.access import lease_in_hand, round_to_judge
from annotation.selectors.quality import headphones_due, headphones_require
from annotation.selectors.queue import lease_of
from annotation.services import (
    assignment_extend,
    assignment_leave,
    assignment_release,
    audio_problem_report,
    clips_ahead,
    draft_save,
    grade_submit,
    judgement_retract,
)
from annotation.views.judge_words import judge_words
from annotation.views.judging import feedback_context, queue_context, undo_until
from eqstudio.errors import InvalidInput, NotFound
from eqstudio.payload import Payload, payload_read
from generation.media import clip_url


class Answers(Payload):
    """What a person says of an item, as the page sends it."""

    client_key: str = Field(min_length=1, max_length=64)
    verdict: str
    grades: dict[str, int]
    reasons: list[str] = []
    comment: str = ""
    answers: dict[str, int | str] = {}
    heard: dict[str, list[list[float]]]
    active_ms: int = Field(default=0, ge=0)


class Submission(Answers):
    assignment: str


class Draft(Payload):
    assignment: str
    draft: dict[str, Any]


class Lease(Payload):
    assignment: str


class Skip(Payload):
    assignment: str
    skip: Literal["me", "others", "unjudgeable"] = "others"
    reason: str = Field(default="", max_length=200)


class Problem(Payload):
    """``variant`` is empty for the whole item; ``give_back`` ends the lease as one that cannot be judged."""

    assignment: str
    variant: str = ""
    problem: str
    detail: str = Field(default="", max_length=2000)
    give_back: bool = False


class Undo(Payload):
    judgement: str


@require_GET
@never_cache
@ensure_csrf_cookie
def judge(request: HttpRequest, uid: str) -> HttpResponse:
    """The page with the person's item in it, or with the reason why there is none; after the headphone check, if any."""
    round_ = _round(request, uid)
    if headphones_due(round=round_, annotator=request.user, now=timezone.now()):  # type: ignore[arg-type]
        return redirect("headphones", round_.uid)
    context = queue_context(round_, request.user, timezone.now())  # type: ignore[arg-type]
    return render(request, "annotation/judge.html", {**context, "words": judge_words()})


@require_GET
@never_cache
def judge_next(request: HttpRequest, uid: str) -> JsonResponse:
    """The item part of the page as it is now."""
    round_ = _round(request, uid)
    headphones_require(round=round_, annotator=request.user, now=timezone.now())  # type: ignore[arg-type]
    return _answer(request, round_, timezone.now())


@require_POST
def judge_submit(request: HttpRequest, uid: str) -> JsonResponse:
    """Store the judgement and answer with the next item, so that the page can go on at once."""
    lease, sent = _submission(request, uid)
    round_, now = lease.item.round, timezone.now()
    said = sent.model_dump(exclude={"assignment"})
    judgement = grade_submit(assignment=lease, now=now, **said)
    facts = {"judgement": judgement.uid, "late": judgement.late}
    facts["undo_until"] = undo_until(judgement, round_).isoformat()
    told = feedback_context(judgement)
    if told is not None:
        facts["feedback"] = render_to_string("annotation/judge_feedback.html", told, request)
    return _answer(request, round_, now, **facts)


@require_POST
def judge_draft(request: HttpRequest, uid: str) -> JsonResponse:
    """Keep what was filled in so far."""
    round_ = _round(request, uid)
    sent = payload_read(request, Draft)
    draft_save(assignment=_lease(request, round_, sent.assignment), draft=sent.draft)
    return JsonResponse({"saved_at": timezone.now().isoformat()})


@require_POST
def judge_heartbeat(request: HttpRequest, uid: str) -> JsonResponse:
    """The page is still open: prolong the reservation."""
    round_ = _round(request, uid)
    sent = payload_read(request, Lease)
    lease = assignment_extend(assignment=_lease(request, round_, sent.assignment), now=timezone.now())
    return JsonResponse({"lease_until": lease.lease_until.isoformat()})


@require_POST
def judge_leave(request: HttpRequest, uid: str) -> JsonResponse:
    """The page was left with nothing entered: the item is free for others in a minute."""
    round_ = _round(request, uid)
    sent = payload_read(request, Lease)
    left = assignment_leave(assignment=_lease(request, round_, sent.assignment), now=timezone.now())
    return JsonResponse({"left": left})


@require_POST
def judge_ahead(request: HttpRequest, uid: str) -> JsonResponse:
    """Addresses of the sounds that will probably be wanted next, so that the page can fetch them meanwhile."""
    round_ = _round(request, uid)
    sent = payload_read(request, Lease)
    lease = _lease(request, round_, sent.assignment)
    ahead = clips_ahead(assignment=lease, now=timezone.now())
    holder = lease.annotator.uid
    clips = [{"id": one.uid, "url": clip_url(clip=one.clip, holder=holder)} for one in ahead]
    return JsonResponse({"round": round_.uid, "clips": clips})


@require_POST
def judge_skip(request: HttpRequest, uid: str) -> JsonResponse:
    """Give the item back and say where it goes, and answer with the next."""
    round_ = _round(request, uid)
    sent = payload_read(request, Skip)
    now = timezone.now()
    if sent.skip == "unjudgeable" and not sent.reason.strip():
        raise InvalidInput(_("Say why it cannot be judged."), field="reason")
    lease = _lease(request, round_, sent.assignment)
    assignment_release(assignment=lease, now=now, skip=sent.skip, reason=sent.reason.strip())
    return _answer(request, round_, now)


@require_POST
def judge_problem(request: HttpRequest, uid: str) -> JsonResponse:
    """Store what is wrong with a sound; go on judging, or give the item back as one that cannot be judged."""
    round_ = _round(request, uid)
    sent = payload_read(request, Problem)
    now = timezone.now()
    lease = _lease(request, round_, sent.assignment)
    report = audio_problem_report(
        assignment=lease, variant_uid=sent.variant, problem=sent.problem, detail=sent.detail, actor=request.user
    )
    if not sent.give_back:
        return JsonResponse({"round": round_.uid, "report": report.uid})
    reason = f"audio: {report.problem}"
    assignment_release(assignment=lease, now=now, skip=Assignment.Skip.UNJUDGEABLE, reason=reason)
    return _answer(request, round_, now, report=report.uid)


@require_POST
def judge_undo(request: HttpRequest, uid: str) -> JsonResponse:
    """Take the last judgement back and answer with its item, filled in as it was."""
    round_ = _round(request, uid)
    sent = payload_read(request, Undo)
    now = timezone.now()
    judgement_retract(judgement=_judgement(request, round_, sent.judgement), actor=request.user, now=now)
    return _answer(request, round_, now)


def _round(request: HttpRequest, uid: str) -> Round:
    return round_to_judge(request.user, uid)  # type: ignore[arg-type]


def _submission(request: HttpRequest, uid: str) -> tuple[Assignment, Submission]:
    """What is sent, and the lease that it is about with its round, in one query; who may not judge here, or has no such
    lease, is told as everywhere.
    """
    try:
        sent = payload_read(request, Submission)
    except InvalidInput:
        _round(request, uid)
        raise
    lease = lease_in_hand(request.user, uid, sent.assignment)  # type: ignore[arg-type]
    return lease or _lease(request, _round(request, uid), sent.assignment), sent


def _lease(request: HttpRequest, round_: Round, uid: str) -> Assignment:
    return lease_of(round=round_, annotator=request.user, uid=uid)  # type: ignore[arg-type]


def _judgement(request: HttpRequest, round_: Round, uid: str) -> Judgement:
    judgement = judgement_for(request.user, uid)  # type: ignore[arg-type]
    if judgement.item.round_id != round_.pk:
        raise NotFound(_("There is no such judgement in this round."))
    return judgement


def _answer(request: HttpRequest, round_: Round, now: datetime, **facts: Any) -> JsonResponse:
    context = queue_context(round_, request.user, now)  # type: ignore[arg-type]
    html = render_to_string("annotation/judge_item.html", context, request)
    return JsonResponse({"round": round_.uid, "html": html, **facts})
