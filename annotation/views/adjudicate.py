"""The expert's page: hear the item, see what people said under aliases, decide with a reason."""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.domain.assignment import shown_order
from annotation.forms import DecisionForm
from annotation.models import RoundItem
from annotation.selectors import disputed_items, item_for, live_judgements
from annotation.services import item_adjudicate
from annotation.views.judging import letters_of, rubric_of, scenario_lines, ui_text
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import StudioError
from eqstudio.models import User
from generation.media import clip_card
from generation.models import Turn, Variant
from generation.views.guards import curating, person
from generation.words import category_label


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def adjudicate(request: HttpRequest, uid: str) -> HttpResponse:
    """Show one item with its judgements, and take a decision."""
    item = item_for(person(request), uid)
    form = DecisionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            item_adjudicate(item=item, **form.cleaned_data, actor=person(request))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("Decided. Your reason is kept with the item."))
            following = disputed_items(round=item.round).first()
            return redirect("adjudicate", following.uid) if following else redirect("round", item.round.uid)
    context = {"form": form, **_item(item, person(request))}
    return render(request, "annotation/adjudicate.html", context, status=422 if form.errors else 200)


def _item(item: RoundItem, holder: User) -> dict[str, Any]:
    dialogue = item.dialogue
    benchmark = benchmark_get(dialogue.benchmark)
    turns = list(dialogue.turns.prefetch_related("variants__clip__renditions"))
    by_position = {turn.position: [variant.uid for variant in turn.variants.all()] for turn in turns}
    shown = shown_order(by_position, seed=item.uid)
    roles = benchmark.review_form.graded_roles
    letters = letters_of(shown, [turn.position for turn in turns if turn.role in roles])
    reasons = {reason.code: ui_text(reason.label) for reason in benchmark.review_form.reasons}
    return {
        "item": item,
        "dialogue": dialogue,
        "category": category_label(dialogue.benchmark, dialogue.category),
        "scenario": scenario_lines(dialogue.scenario),
        "lines": [_line(turn, shown[str(turn.position)], letters, holder) for turn in turns],
        "letters": list(letters.values()),
        "rubric": rubric_of(benchmark, dialogue.category),
        "judgements": _judgements(item, letters, reasons),
        "decisions": item.adjudications.select_related("decided_by"),
    }


def _line(turn: Turn, shown: list[str], letters: dict[str, str], holder: User) -> dict[str, Any]:
    variants = {variant.uid: variant for variant in turn.variants.all()}
    return {
        "position": turn.position,
        "speaker": turn.speaker_name or turn.speaker,
        "slots": [_slot(variants[uid], turn, letters.get(uid, ""), holder) for uid in shown],
    }


def _slot(variant: Variant, turn: Turn, letter: str, holder: User) -> dict[str, Any]:
    return {
        "uid": variant.uid,
        "letter": letter,
        "label": letter or f"{turn.position} {turn.speaker_name or turn.speaker}",
        "group": str(turn.position) if letter else "",
        "text": variant.text,
        "card": clip_card(clip=variant.clip, holder=holder.uid) if variant.clip else None,
    }


def _judgements(item: RoundItem, letters: dict[str, str], reasons: dict[str, str]) -> list[dict[str, Any]]:
    """Under aliases that are the same on every look at this item and say nothing across items."""
    live = live_judgements(item=item).select_related("annotator").prefetch_related("grades__variant")
    mixed = sorted(live, key=lambda given: hashlib.sha256(f"{item.uid}:{given.annotator.uid}".encode()).digest())
    rows = []
    for number, given in enumerate(mixed, start=1):
        by_letter = {letters.get(grade.variant.uid): grade.value for grade in given.grades.all()}
        rows.append(
            {
                "alias": _("Judge %(number)d") % {"number": number},
                "verdict": given.verdict,
                "verdict_label": given.get_verdict_display(),
                "reasons": [reasons.get(code, code) for code in given.reasons],
                "comment": given.comment,
                "grades": [by_letter.get(letter) for letter in letters.values()],
            }
        )
    return rows
