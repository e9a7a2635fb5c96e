"""Behind the numbers: the items on which people and a model are apart, and one item with its sound and every answer."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import InvalidInput, NotFound
from evaluation.models import Respondent, Response, Study
from evaluation.selectors import answers_to, study_to_curate_for, tags_counted, tags_on
from evaluation.services import error_tag_set
from evaluation.services.readings import own_reading, readings_apart
from evaluation.services.scoring import score_that_counts
from evaluation.services.tags import TAGS
from evaluation.views.asked import seen, systems_of
from evaluation.views.comparison import apart_rows
from evaluation.words import OUTCOMES, TAG_WORDS
from generation.media import clip_card
from generation.models import Dialogue
from generation.views.guards import curating, person

PER_PAGE = 50


@require_safe
@never_cache
@curating
def comparison_items(request: HttpRequest, uid: str) -> HttpResponse:
    """Items that people get right and the model does not; with ``back`` the other way round."""
    study = study_to_curate_for(person(request), uid)
    at = seen(request, study)
    back = request.GET.get("back") == "1"
    rows = apart_rows(study, at.chosen, at.filters, back=back)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    respondent = study.respondents.filter(uid=at.chosen["uid"]).first() if at.chosen else None
    counted = tags_counted(study=study, respondent=respondent) if respondent else []
    context = {
        "study": study,
        "chosen": at.chosen,
        "systems": systems_of(at.result),
        "filters": at.filters,
        "back": back,
        "page_obj": page,
        "rows": page.object_list,
        "tags": [(TAG_WORDS[one.tag], one.items) for one in counted],
    }
    return render(request, "evaluation/comparison_items.html", context)


@require_safe
@never_cache
@curating
def comparison_item(request: HttpRequest, uid: str, item: str) -> HttpResponse:
    """One item: hear every version, read every answer with its reason, tag what went wrong."""
    user = person(request)
    study = study_to_curate_for(user, uid)
    dialogue = _dialogue(study, item)
    standing = tags_on(study=study, dialogue=dialogue)
    answers = answers_to(study=study, dialogue=dialogue)
    blocks = [
        _block(respondent, list(given), standing.get(respondent.pk, set()))
        for respondent, given in groupby(answers, key=lambda answer: answer.trial.sitting.respondent)
    ]
    asked = request.GET.get("model", "")
    blocks.sort(key=lambda block: (block["respondent"].uid != asked, block["respondent"].kind != "person"))
    context = {
        "study": study,
        "dialogue": dialogue,
        "turns": _turns(dialogue, user.uid),
        "blocks": blocks,
        "asked": asked,
        "back": request.GET.get("back", ""),
    }
    return render(request, "evaluation/comparison_item.html", context)


@require_POST
@curating
def comparison_tag(request: HttpRequest, uid: str, item: str) -> HttpResponse:
    """Put an error tag on a respondent's answers to this item, or take it back."""
    user = person(request)
    study = study_to_curate_for(user, uid)
    dialogue = _dialogue(study, item)
    respondent = study.respondents.filter(uid=request.POST.get("respondent", "")).first()
    if respondent is None:
        raise InvalidInput(_("Nobody of that id sat this study. Nothing was tagged."), field="respondent")
    error_tag_set(
        study=study,
        respondent=respondent,
        dialogue=dialogue,
        tag=request.POST.get("tag", ""),
        on=request.POST.get("on") == "1",
        actor=user,
    )
    place = redirect("comparison_item", uid, item)
    place["Location"] += f"?model={respondent.uid}#answers-{respondent.uid}"
    return place


def _dialogue(study: Study, item: str) -> Dialogue:
    found = Dialogue.objects.filter(uid=item, split_items__split=study.split).first()
    if found is None:
        raise NotFound(_("There is no such item in this study."))
    return found


def _turns(dialogue: Dialogue, holder: str) -> list[dict[str, Any]]:
    """Every line with all its versions; the key is shown here, for nobody sits an exam on this page."""
    turns = dialogue.turns.order_by("position").prefetch_related("variants__clip__renditions")
    return [
        {
            "turn": turn,
            "variants": [
                {"variant": one, "card": clip_card(clip=one.clip, holder=holder) if one.clip else None}
                for one in turn.variants.all()
            ],
        }
        for turn in turns
    ]


def _block(respondent: Respondent, answers: list[Response], tags: set[str]) -> dict[str, Any]:
    lines = [_line(answer) for answer in answers]
    return {
        "respondent": respondent,
        "lines": lines,
        "wrong": any(line["score"] is None or not line["score"].correct for line in lines),
        "tags": [(tag, TAG_WORDS[tag], tag in tags) for tag in TAGS],
        "tagged": bool(tags),
    }


def _line(answer: Response) -> dict[str, Any]:
    score = score_that_counts(answer.scores.all())
    trial = Trial.from_dict(answer.trial.shown)
    own = own_reading(answer)
    chosen = next((option for option in trial.options if score and option.letter == score.value), None)
    return {
        "answer": answer,
        "run": answer.trial.sitting.run_told,
        "score": score,
        "outcome": OUTCOMES[score.outcome] if score else _("not scored"),
        "own": own,
        "own_outcome": OUTCOMES[own.outcome] if own else "",
        "apart": own is not None and score is not None and readings_apart(score, own),
        "chosen": chosen,
        "order": [option.variant or option.text for option in trial.options],
    }
