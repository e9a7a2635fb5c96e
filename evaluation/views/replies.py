"""Open replies: people judge them on a page, judge models in the background; the figures come with how far a judge agrees."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import StudioError
from eqstudio.estimates import Estimate
from eqstudio.payload import payload_read
from evaluation.domain.judging import BY_NAME, HIGH, LOW, SCALES, Scale
from evaluation.forms_replies import JudgeForm
from evaluation.models import ReplyJudge, ReplyJudgement, Response, Study
from evaluation.selectors import study_for, study_to_curate_for
from evaluation.selectors.replies import judges_at_work, reply_for, reply_text
from evaluation.services.judge_work import judge_start
from evaluation.services.judging import clips_of_reply, judge_create, reply_clip, reply_judge, reply_next, scales_of
from evaluation.services.reply_results import ROUGE, replies_build
from evaluation.tasks import replies_step
from evaluation.views.rating import Ratings, rating_words
from evaluation.views.sit import device_of
from evaluation.words import BASELINES, OUTCOMES
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
        "label": scale.label[_page_language()],
        "asks": scale.asks[language],
        "anchors": [(1, one), (3, three), (5, five)],
    }


def _page_language() -> str:
    return "zh" if (get_language() or "en").startswith("zh") else "en"


def shown_replies(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """The figures as a page shows them: agreement of each judge first, and beside every figure that a judge gave."""
    if found is None:
        return None
    language = _page_language()
    asked = [scale for scale in SCALES if any(_given(row, scale.name) for row in found["rows"])]
    return {
        **found,
        "scales": [(scale.name, scale.code, scale.label[language]) for scale in asked],
        "human": [
            (BY_NAME[name].label[language], [Estimate(**figures[key]) for key in ("alpha_ordinal", "qwk")])
            for name, figures in found["people"]["agreement"].items()
        ],
        "judges": [_judge(judge, language) for judge in found["judges"]],
        "lines": [line for row in found["rows"] for line in _lines(row, asked, found["judges"])],
    }


def _given(row: dict[str, Any], scale: str) -> bool:
    figures = [row["people"][scale], *(by[scale] for by in row["judges"].values() if scale in by)]
    return any(figure["value"] is not None for figure in figures)


def _judge(judge: dict[str, Any], language: str) -> dict[str, Any]:
    return {
        **judge,
        "lost": [(OUTCOMES[name], n) for name, n in judge["outcomes"].items() if name != "answered"],
        "agreed": [
            (
                BY_NAME[name].label[language],
                [Estimate(**figures[key]) for key in ("qwk", "pearson", "spearman", "bias")],
            )
            for name, figures in judge["agreement"].items()
        ],
    }


def _lines(row: dict[str, Any], asked: list[Scale], judges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One line by people and one by each judge; a judge's figure carries its agreement with people on that scale."""
    name = BASELINES.get(row["name"], row["name"])
    rouge = Estimate(**row[ROUGE])
    cells = [{"figure": Estimate(**row["people"][scale.name]), "beside": None} for scale in asked]
    found = [{"name": name, "by": "", "cells": cells, "rouge": rouge, "replies": row["replies"]}]
    for judge in judges:
        given = row["judges"].get(judge["name"], {})
        cells = [
            {
                "figure": Estimate(**given[scale.name]) if scale.name in given else None,
                "beside": Estimate(**judge["agreement"][scale.name]["qwk"]) if scale.name in given else None,
            }
            for scale in asked
        ]
        found.append({"name": name, "by": judge["name"], "cells": cells, "rouge": None, "replies": row["replies"]})
    return found
