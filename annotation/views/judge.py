"""The judging page: one item at a time. Every answer to the page's script is JSON and safe to ask for twice."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
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
from annotation.selectors import assignment_for, judgement_for, round_for
from annotation.selectors.quality import headphones_due, headphones_require
from annotation.services import assignment_extend, assignment_release, draft_save, grade_submit, judgement_retract
from annotation.views.history import history_rows, judgements_of
from annotation.views.judging import judge_words, queue_context, undo_until
from eqstudio.access import can_annotate, role_require
from eqstudio.errors import NotFound
from eqstudio.payload import Payload, payload_read

PER_PAGE = 50


class Submission(Payload):
    """A judgement as the page sends it."""

    assignment: str
    client_key: str = Field(min_length=1, max_length=64)
    verdict: str
    grades: dict[str, int]
    reasons: list[str] = []
    comment: str = ""
    heard: dict[str, list[list[float]]]
    active_ms: int = Field(default=0, ge=0)


class Draft(Payload):
    assignment: str
    draft: dict[str, Any]


class Lease(Payload):
    assignment: str


class Skip(Payload):
    assignment: str
    reason: str = Field(default="", max_length=200)


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
    round_ = _round(request, uid)
    sent = payload_read(request, Submission)
    now = timezone.now()
    judgement = grade_submit(
        assignment=_lease(request, round_, sent.assignment),
        client_key=sent.client_key,
        verdict=sent.verdict,
        grades=sent.grades,
        reasons=sent.reasons,
        comment=sent.comment,
        heard=sent.heard,
        active_ms=sent.active_ms,
        now=now,
    )
    until = undo_until(judgement, round_)
    return _answer(request, round_, now, judgement=judgement.uid, late=judgement.late, undo_until=until.isoformat())


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
def judge_skip(request: HttpRequest, uid: str) -> JsonResponse:
    """Give the item back, with a reason if there is one, and answer with the next."""
    round_ = _round(request, uid)
    sent = payload_read(request, Skip)
    now = timezone.now()
    assignment_release(assignment=_lease(request, round_, sent.assignment), now=now, reason=sent.reason)
    return _answer(request, round_, now)


@require_POST
def judge_undo(request: HttpRequest, uid: str) -> JsonResponse:
    """Take the last judgement back and answer with its item, filled in as it was."""
    round_ = _round(request, uid)
    sent = payload_read(request, Undo)
    now = timezone.now()
    judgement_retract(judgement=_judgement(request, round_, sent.judgement), actor=request.user, now=now)
    return _answer(request, round_, now)


@require_GET
@role_require(can_annotate)
def my_judgements(request: HttpRequest) -> HttpResponse:
    """What the person said so far, newest first, and what may still be changed."""
    page = Paginator(judgements_of(request.user), PER_PAGE).get_page(request.GET.get("page"))  # type: ignore[arg-type]
    rows = history_rows(page.object_list, now=timezone.now())
    return render(request, "annotation/judge_history.html", {"page_obj": page, "rows": rows})


@require_POST
@role_require(can_annotate)
def judgement_take_back(request: HttpRequest, uid: str) -> HttpResponse:
    """Take a judgement back from the history and open its item again."""
    judgement = judgement_for(request.user, uid)  # type: ignore[arg-type]
    judgement_retract(judgement=judgement, actor=request.user, now=timezone.now())
    messages.success(request, _("The judgement is taken back. Here it is again, as you left it."))
    return redirect("judge", judgement.item.round.uid)


def _round(request: HttpRequest, uid: str) -> Round:
    return round_for(request.user, uid, may_do=can_annotate)  # type: ignore[arg-type]


def _lease(request: HttpRequest, round_: Round, uid: str) -> Assignment:
    assignment = assignment_for(request.user, uid)  # type: ignore[arg-type]
    if assignment.item.round_id != round_.pk:
        raise NotFound(_("There is no such item in this round."))
    return assignment


def _judgement(request: HttpRequest, round_: Round, uid: str) -> Judgement:
    judgement = judgement_for(request.user, uid)  # type: ignore[arg-type]
    if judgement.item.round_id != round_.pk:
        raise NotFound(_("There is no such judgement in this round."))
    return judgement


def _answer(request: HttpRequest, round_: Round, now: datetime, **facts: Any) -> JsonResponse:
    context = queue_context(round_, request.user, now)  # type: ignore[arg-type]
    html = render_to_string("annotation/judge_item.html", context, request)
    return JsonResponse({"round": round_.uid, "html": html, **facts})
