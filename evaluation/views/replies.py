"""Open replies: people judge them on a page, judge models in the background; the figures come with how far a judge agrees."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import StudioError
from eqstudio.payload import payload_read
from evaluation.domain.judging import HIGH, LOW, Scale
from evaluation.forms_replies import JudgeForm
from evaluation.models import ReplyJudge, ReplyJudgement, Response, Study
from evaluation.selectors import study_for, study_to_curate_for
from evaluation.selectors.replies import judges_at_work, reply_for, reply_text
from evaluation.services.judge_work import judge_start
from evaluation.services.judging import clips_of_reply, judge_create, reply_clip, reply_judge, reply_next, scales_of
from evaluation.services.reply_results import replies_build
from evaluation.tasks import replies_step
from evaluation.views.rating import Ratings, rating_words
from evaluation.views.replies_shown import page_language, shown_replies
from evaluation.views.sit import device_of
from generation.media import clip_card
from generation.selectors import variants_by_uid
from generation.views.guards import curating, person


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@curating
def replies(request: HttpRequest, uid: str) -> HttpResponse:
    """What was judged, and a form to let a model judge; how far each judge agrees with people comes first."""
    study = study_to_curate_for(person(request), uid)
    form = JudgeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            judges = judge_create(study=study, actor=person(request), **form.cleaned_data)
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            _enqueue(judges)
            messages.success(request, _("The judge is at work. What it gave so far stands on this page."))
            return redirect("replies", uid)
    with_key = request.GET.get("key") == "1"
    context = {
        "study": study,
        "form": form,
        "judged": shown_replies(replies_build(study, with_key=with_key)),
        "with_key": with_key,
        "works": judges_at_work(study=study),
    }
    return render(request, "evaluation/replies.html", context, status=422 if form.errors else 200)


def _enqueue(judges: list[ReplyJudge]) -> None:
    for judge in judges:
        judge_start(judge=judge)
        transaction.on_commit(partial(replies_step.delay, judge.pk))


@require_GET
@never_cache
@ensure_csrf_cookie
def reply_rate(request: HttpRequest, uid: str) -> HttpResponse:
    """The next reply for this person to judge."""
    study = study_for(person(request), uid)
    return render(request, "evaluation/reply_rate.html", {**_context(request, study), "words": rating_words()})


@require_POST
def reply_submit(request: HttpRequest, uid: str) -> JsonResponse:
    """Store a judgement and return the next reply. Sent twice it is stored once."""
    user = person(request)
    study = study_for(user, uid)
    sent = payload_read(request, Ratings)
    reply_judge(
        response=reply_for(user, study, sent.about),
        user=user,
        values=sent.values,
        client_key=sent.client_key,
        heard=sent.heard,
        paradata={**sent.paradata.model_dump(), "comment": sent.comment, "device": device_of(request)},
    )
    html = render_to_string("evaluation/reply_panel.html", _context(request, study), request)
    return JsonResponse({"page": study.uid, "html": html})


def _context(request: HttpRequest, study: Study) -> dict[str, Any]:
    user = person(request)
    response = reply_next(study=study, user=user) if study.is_open else None
    done = ReplyJudgement.objects.filter(user=user, response__trial__sitting__respondent__study=study).count()
    context: dict[str, Any] = {"study": study, "done": done}
    return context if response is None else {**context, **_reply(response, user.uid)}


def _reply(response: Response, holder: str) -> dict[str, Any]:
    trial = Trial.from_dict(response.trial.shown)
    names = dict(clips_of_reply(response))
    variants = variants_by_uid(uids=names)
    spoken = reply_clip(response)
    return {
        "response": response,
        "trial": trial,
        "clips": [
            {"uid": uid, "name": names[uid], "card": clip_card(clip=variant.clip, holder=holder)}
            for uid, variant in variants.items()
            if variant.clip
        ],
        "reply": reply_text(response),
        "spoken": clip_card(clip=spoken, holder=holder) if spoken else None,
        "scales": [_scale(scale, trial.language) for scale in scales_of(response)],
        "numbers": list(range(LOW, HIGH + 1)),
        "data": {"about": response.uid, "groups": [scale.name for scale in scales_of(response)]},
    }


def _scale(scale: Scale, language: str) -> dict[str, Any]:
    one, three, five = scale.anchors[language]
    return {
        "name": scale.name,
        "label": scale.label[page_language()],
        "asks": scale.asks[language],
        "anchors": [(1, one), (3, three), (5, five)],
    }
