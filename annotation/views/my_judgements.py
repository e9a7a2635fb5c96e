"""One's own judgements: what was said, where it stands, and changing it while that is possible."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_POST

from annotation.models import Judgement
from annotation.selectors import judgement_for
from annotation.services import judgement_retract, judgement_revise
from annotation.services.judgements import revision_refused
from annotation.views.history import HistoryForm, history_rows, judgements_of
from annotation.views.judge import Answers
from annotation.views.judge_words import judge_words
from annotation.views.judging import revision_context
from eqstudio.access import can_annotate, role_require
from eqstudio.errors import Conflict
from eqstudio.payload import payload_read

PER_PAGE = 50


@require_GET
@role_require(can_annotate)
def my_judgements(request: HttpRequest) -> HttpResponse:
    """What the person said so far, newest first, by round, verdict and state, and what may still be changed."""
    form = HistoryForm(request.GET, user=request.user)  # type: ignore[arg-type]
    found = form.narrow(judgements_of(request.user))  # type: ignore[arg-type]
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context = {"page_obj": page, "rows": history_rows(page.object_list, now=timezone.now()), "form": form}
    return render(request, "annotation/judge_history.html", {**context, "filtered": form.is_set})


@require_POST
@role_require(can_annotate)
def judgement_take_back(request: HttpRequest, uid: str) -> HttpResponse:
    """Take a judgement back from the history and open its item again."""
    judgement = judgement_for(request.user, uid)  # type: ignore[arg-type]
    judgement_retract(judgement=judgement, actor=request.user, now=timezone.now())
    messages.success(request, _("The judgement is taken back. Here it is again, as you left it."))
    return redirect("judge", judgement.item.round.uid)


@require_GET
@never_cache
@ensure_csrf_cookie
@role_require(can_annotate)
def judgement_edit(request: HttpRequest, uid: str) -> HttpResponse:
    """The item of a judgement, filled in with what was said."""
    judgement = _judgement(request, uid)
    refused = revision_refused(judgement=judgement, item=judgement.item, now=timezone.now())
    if refused:
        raise Conflict(refused)
    return render(request, "annotation/judge.html", {**revision_context(judgement), "words": judge_words()})


@require_POST
@role_require(can_annotate)
def judgement_change(request: HttpRequest, uid: str) -> JsonResponse:
    """Store what the person says now as the next revision."""
    judgement = _judgement(request, uid)
    sent = payload_read(request, Answers)
    said = sent.model_dump()
    revised = judgement_revise(judgement=judgement, actor=request.user, now=timezone.now(), **said)
    messages.success(request, _("The change is saved. What you said before is kept in the trail."))
    round_ = judgement.item.round.uid
    return JsonResponse({"round": round_, "judgement": revised.uid, "go": reverse("my_judgements")})


def _judgement(request: HttpRequest, uid: str) -> Judgement:
    return judgement_for(request.user, uid)  # type: ignore[arg-type]
