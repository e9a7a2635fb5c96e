"""The headphone check: six short sounds, one question each. Works without any script."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.domain.headphones import PASS, TONES, TRIALS
from annotation.models import HeadphoneCheck, Round
from annotation.selectors import round_for
from annotation.selectors.quality import headphones_passed, rules_of
from annotation.services.headphones import check_token, headphone_check, sound_addresses, sound_bytes
from eqstudio.access import can_annotate, guests_welcome
from eqstudio.errors import Conflict, InvalidInput, NotFound
from generation.views.guards import person
from generation.views.media import UnsatisfiableError, range_wanted


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def headphones(request: HttpRequest, uid: str) -> HttpResponse:
    """A new check, or the score of one; who has passed goes on to the round."""
    found = round_for(person(request), uid, may_do=can_annotate)
    if request.method == "POST":
        return _answered(request, found)
    return _page(request, found)


def check_context(request: HttpRequest) -> dict[str, Any]:
    """What ``annotation/headphones_form.html`` asks of a new check for whoever is signed in."""
    now = timezone.now()
    token = check_token(annotator=person(request), now=now)
    sounds = sound_addresses(token=token, annotator=person(request), now=now)
    return {"token": token, "sounds": sounds, "places": range(1, TONES + 1), "needed": PASS}


def check_answered(request: HttpRequest) -> HeadphoneCheck:
    """Score the form that was sent. InvalidInput, Conflict or NotFound as ``headphone_check`` raises them."""
    given = [request.POST.get(f"answer-{trial}", "") for trial in range(1, TRIALS + 1)]
    answers = [int(answer) - 1 if answer.isdecimal() else -1 for answer in given]
    token = request.POST.get("check", "")
    return headphone_check(annotator=person(request), token=token, answers=answers, now=timezone.now())


def _page(request: HttpRequest, round_: Round, *, status: int = 200, **context: Any) -> HttpResponse:
    now = timezone.now()
    hours = rules_of(round_).headphones_hours
    context |= {
        **check_context(request),
        "round": round_,
        "hours": hours,
        "passed": headphones_passed(annotator=person(request), hours=hours, now=now),
    }
    return render(request, "annotation/headphones.html", context, status=status)


def _answered(request: HttpRequest, round_: Round) -> HttpResponse:
    try:
        made = check_answered(request)
    except (InvalidInput, Conflict, NotFound) as error:
        return _page(request, round_, status=error.status if error.status == Conflict.status else 422, error=error)
    if not made.passed:
        return _page(request, round_, status=422, failed=made)
    messages.success(request, _("Your headphones are fine. On to the round."))
    return redirect("judge", round_.uid)


@guests_welcome
@require_safe
@never_cache
def headphone_sound(request: HttpRequest, token: str) -> HttpResponse:
    """One sound, to the person whose page it was made for. Answers a byte range, which some players ask for."""
    data = sound_bytes(token=token, annotator=person(request), now=timezone.now())
    response = HttpResponse(data, content_type="audio/wav")
    try:
        part = range_wanted(header=request.headers.get("Range"), condition=None, etag="", size=len(data))
    except UnsatisfiableError:
        response = HttpResponse(status=416)
        response["Content-Range"] = f"bytes */{len(data)}"
        return response
    if part is not None:
        response = HttpResponse(data[part.first : part.last + 1], status=206, content_type="audio/wav")
        response["Content-Range"] = f"bytes {part.first}-{part.last}/{len(data)}"
    response["Accept-Ranges"] = "bytes"
    response["Content-Disposition"] = "inline"
    return response
