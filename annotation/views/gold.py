"""Gold, training and qualification: which items have a known answer, how people do on them, and the editor."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.domain.assignment import shown_order
from annotation.forms.quality import GoldForm, QualityForm, ReasonForm
from annotation.models import GoldAnswer, Kind, RoundItem
from annotation.selectors import item_for, round_for
from annotation.selectors.gold import decided_items, gold_rows
from annotation.selectors.quality import known_answers, rules_of
from annotation.services.gold import gold_add, gold_from_decision, gold_remove, gold_set
from annotation.services.judge_rules import judge_rules_set
from annotation.views.judge_words import rubric_of
from annotation.views.judging import letters_of, scenario_lines
from eqstudio.access import can_curate
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import InvalidInput, NotFound, StudioError
from eqstudio.models import User
from generation.media import clip_card
from generation.models import Dialogue, Turn
from generation.views.guards import curating, person
from generation.words import category_label


@require_safe
@curating
def round_gold(request: HttpRequest, uid: str) -> HttpResponse:
    """Every item with a known answer, who met it, and what looks wrong about the answer itself."""
    found = round_for(person(request), uid, may_do=can_curate)
    rows = gold_rows(round=found)
    rules = rules_of(found)
    having = {row.item.kind for row in rows if row.answer is not None}
    context = {
        "round": found,
        "tab": "gold",
        "rows": [(row, category_label(row.item.dialogue.benchmark, row.item.dialogue.category)) for row in rows],
        "suspicious": sum(row.doubt.suspicious for row in rows),
        "missing": [
            text
            for kind, wanted, text in (
                (
                    Kind.TRAINING,
                    rules.training,
                    _("The round wants training, but no training item has a known answer."),
                ),
                (
                    Kind.QUALIFICATION,
                    rules.qualification_pass > 0,
                    _("The round wants qualification, but no item for it has a known answer."),
                ),
                (Kind.GOLD, bool(rules.gold_first or rules.gold_every), _("The round wants gold, but there is none.")),
            )
            if wanted and kind not in having
        ],
        "decided": decided_items(round=found),
    }
    return render(request, "annotation/quality_gold.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def round_rules(request: HttpRequest, uid: str) -> HttpResponse:
    """What the round asks of its judges. A round without rules is shown the recommended ones."""
    found = round_for(person(request), uid, may_do=can_curate)
    form = QualityForm(request.POST or None, rules=found.quality or None)
    if request.method == "POST" and form.is_valid():
        judge_rules_set(round=found, quality=form.quality(), actor=person(request))
        messages.success(request, _("The rules are kept. They hold from the next item on."))
        return redirect("round_gold", found.uid)
    context = {"round": found, "tab": "gold", "form": form, "fresh": not found.quality}
    return render(request, "annotation/quality_rules.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def gold_new(request: HttpRequest, uid: str) -> HttpResponse:
    """Take a dialogue, named by its code, into the round for its known answer."""
    found = round_for(person(request), uid, may_do=can_curate)
    code = request.GET.get("dialogue", "").strip()
    if not code:
        return redirect("round_gold", found.uid)
    dialogue = Dialogue.objects.filter(uid=code).first()
    if dialogue is None:
        raise NotFound(_("There is no dialogue with the code %(code)s.") % {"code": code})
    item = found.items.filter(dialogue=dialogue).first()
    if item is not None:
        return redirect("gold_edit", item.uid)
    return _editor(request, RoundItem(round=found, dialogue=dialogue, kind=Kind.GOLD.value), None)


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def gold_edit(request: HttpRequest, uid: str) -> HttpResponse:
    """Hear an item and say what is right about it."""
    item = item_for(person(request), uid)
    return _editor(request, item, known_answers(items=[item.pk]).get(item.pk))


def _editor(request: HttpRequest, item: RoundItem, answer: GoldAnswer | None) -> HttpResponse:
    view = _item(item, person(request))
    form = GoldForm(request.POST or None, slots=view["slots"], initial=_initial(item, answer))
    if request.method == "POST" and form.is_valid():
        try:
            _store(item, form, person(request))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("The known answer is kept. Earlier ones stay in the trail."))
            return redirect("round_gold", item.round.uid)
    context = {"round": item.round, "item": item, "answer": answer, "form": form, **view}
    return render(request, "annotation/quality_gold_edit.html", context, status=422 if form.errors else 200)


def _store(item: RoundItem, form: GoldForm, actor: User) -> None:
    if item.pk is None:
        gold_add(round=item.round, dialogue=item.dialogue, actor=actor, **form.answer())
    else:
        gold_set(item=item, actor=actor, **form.answer())


def _initial(item: RoundItem, answer: GoldAnswer | None) -> dict[str, Any]:
    if answer is None:
        return {}
    grades = {f"grade-{uid}": grade for uid, grade in answer.grades.items()}
    return {
        "kind": item.kind,
        "verdict": answer.verdict,
        "tolerance": answer.tolerance,
        "explanation": answer.explanation,
        **grades,
    }


def _item(item: RoundItem, holder: User) -> dict[str, Any]:
    """The item to be heard, its renditions under letters in an order that says nothing."""
    dialogue = item.dialogue
    benchmark = benchmark_get(dialogue.benchmark)
    turns = list(dialogue.turns.prefetch_related("variants__clip__renditions"))
    shown = shown_order(
        {turn.position: [variant.uid for variant in turn.variants.all()] for turn in turns}, seed=dialogue.uid
    )
    letters = letters_of(shown, [turn.position for turn in turns if turn.role in benchmark.review_form.graded_roles])
    return {
        "dialogue": dialogue,
        "category": category_label(dialogue.benchmark, dialogue.category),
        "scenario": scenario_lines(dialogue.scenario),
        "lines": [_line(turn, shown[str(turn.position)], letters, holder) for turn in turns],
        "slots": list(letters.items()),
        "rubric": rubric_of(benchmark, dialogue.category),
    }


def _line(turn: Turn, shown: list[str], letters: dict[str, str], holder: User) -> dict[str, Any]:
    variants = {variant.uid: variant for variant in turn.variants.all()}
    speaker = turn.speaker_name or turn.speaker
    return {
        "position": turn.position,
        "speaker": speaker,
        "slots": [
            {
                "uid": uid,
                "letter": letters.get(uid, ""),
                "label": letters.get(uid) or f"{turn.position} {speaker}",
                "group": str(turn.position) if uid in letters else "",
                "text": variants[uid].text,
                "card": clip_card(clip=clip, holder=holder.uid) if (clip := variants[uid].clip) else None,
            }
            for uid in shown
        ],
    }


@require_POST
@curating
def gold_take_away(request: HttpRequest, uid: str) -> HttpResponse:
    """The answer is not known any more."""
    item = item_for(person(request), uid)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        raise InvalidInput(_("Say why: the reason is kept with the item."), field="reason")
    gold_remove(item=item, reason=form.cleaned_data["reason"], actor=person(request))
    messages.success(request, _("The known answer is taken away; what people said of the item counts for nobody."))
    return redirect("round_gold", item.round.uid)


@require_POST
@curating
def gold_take_over(request: HttpRequest, uid: str) -> HttpResponse:
    """An expert's decision becomes the known answer."""
    item = item_for(person(request), uid)
    gold_from_decision(item=item, actor=person(request))
    messages.success(request, _("The item is gold now, with the expert's decision as its known answer."))
    return redirect("round_gold", item.round.uid)
