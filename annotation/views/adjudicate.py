"""The expert's pages: the queue of disputed items, and one item to hear, read and decide."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.domain.assignment import shown_order
from annotation.expert_forms import DecisionForm, MoreForm, ReopenForm
from annotation.models import Adjudication, Judgement, Round, RoundItem
from annotation.selectors import item_for, round_for
from annotation.selectors.agreement import disputed_items
from annotation.selectors.consensus import GradeOf, item_grades, judgements_of
from annotation.selectors.experts import dispute_after, disputes_chosen, similar_decided, splits_holding
from annotation.services import item_adjudicate, item_ask_more, item_decision_reopen
from annotation.services.items import is_decided
from annotation.views.judge_words import rubric_of, ui_text
from annotation.views.judging import letters_of, scenario_lines
from annotation.words import RULES
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import StudioError
from eqstudio.models import User
from generation.media import clip_card
from generation.models import Turn, Variant
from generation.views.guards import curating, person
from generation.words import category_label

PER_PAGE = 50


class Queue:
    """Which disputed items the expert is going through: of one round, of one category, or all. Lives in the address."""

    def __init__(self, request: HttpRequest) -> None:
        asked = request.GET.get("round", "")
        self.round: Round | None = round_for(person(request), asked) if asked else None
        self.category = request.GET.get("category", "")[:80]

    @property
    def query(self) -> str:
        found = {"round": self.round.uid if self.round else "", "category": self.category}
        return urlencode({name: value for name, value in found.items() if value})

    def address(self, name: str, *ids: str) -> str:
        return reverse(name, args=ids) + (f"?{self.query}" if self.query else "")

    def following(self, item: RoundItem) -> RoundItem | None:
        return dispute_after(item=item, round=self.round, category=self.category)


@require_safe
@curating
def disputes(request: HttpRequest) -> HttpResponse:
    """Items that wait for an expert, first closed first."""
    queue = Queue(request)
    waiting = disputes_chosen(round=queue.round, category=queue.category)
    page = Paginator(waiting, PER_PAGE).get_page(request.GET.get("page"))
    everywhere = disputed_items().order_by()
    by_round = everywhere.values_list("round__uid", "round__name").annotate(n=Count("pk")).order_by("round__name")
    by_category = everywhere if queue.round is None else everywhere.filter(round=queue.round)
    about = ("dialogue__benchmark", "dialogue__category")
    categories = by_category.values_list(*about).annotate(n=Count("pk")).order_by(*about)
    context = {
        "queue": queue,
        "page_obj": page,
        "rows": [(item, category_label(item.dialogue.benchmark, item.dialogue.category)) for item in page],
        "rounds": list(by_round),
        "categories": [(name, category_label(benchmark, name), n) for benchmark, name, n in categories],
        "first": queue.address("adjudicate", page[0].uid) if page else "",
    }
    return render(request, "annotation/disputes.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def adjudicate(request: HttpRequest, uid: str) -> HttpResponse:
    """Show one item with its judgements, and take a decision."""
    item = item_for(person(request), uid)
    queue = Queue(request)
    page = _item(item, person(request))
    form = DecisionForm(request.POST or None, variants=page["graded"])
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            item_adjudicate(
                item=item, verdict=data["verdict"], reason=data["reason"], grades=form.grades(), actor=person(request)
            )
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("Decided. Your reason is kept with the item."))
            return _onward(queue, item)
    return _shown(request, item, queue, page, form=form)


def _onward(queue: Queue, item: RoundItem) -> HttpResponse:
    """The next disputed item, or the queue when that was the last."""
    following = queue.following(item)
    return redirect(queue.address("adjudicate", following.uid) if following else queue.address("disputes"))


@require_POST
@curating
def adjudicate_more(request: HttpRequest, uid: str) -> HttpResponse:
    """Send the item to more people."""
    item = item_for(person(request), uid)
    queue = Queue(request)
    form = MoreForm(request.POST)
    if form.is_valid():
        try:
            item_ask_more(item=item, **form.cleaned_data, actor=person(request), now=timezone.now())
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("The item is open again, and more people are asked."))
            return _onward(queue, item)
    return _shown(request, item, queue, _item(item, person(request)), more=form)


@require_POST
@curating
def adjudicate_reopen(request: HttpRequest, uid: str) -> HttpResponse:
    """Take a decision back; it stays in the trail."""
    item = item_for(person(request), uid)
    queue = Queue(request)
    form = ReopenForm(request.POST)
    if form.is_valid():
        try:
            item_decision_reopen(item=item, **form.cleaned_data, actor=person(request))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(
                request, _("The decision is taken back and stays in the trail. The item is disputed again.")
            )
            return redirect(queue.address("adjudicate", item.uid))
    return _shown(request, item, queue, _item(item, person(request)), reopen=form)


def _shown(
    request: HttpRequest,
    item: RoundItem,
    queue: Queue,
    page: dict[str, Any],
    *,
    form: DecisionForm | None = None,
    more: MoreForm | None = None,
    reopen: ReopenForm | None = None,
) -> HttpResponse:
    following = queue.following(item)
    context = {
        **page,
        "form": form or DecisionForm(variants=page["graded"]),
        "more": more or MoreForm(auto_id="more_%s"),
        "reopen": reopen or ReopenForm(auto_id="reopen_%s"),
        "decided": is_decided(item=item),
        "frozen_in": splits_holding(item=item),
        "queue": queue,
        "waiting": disputes_chosen(round=queue.round, category=queue.category).count(),
        "following": queue.address("adjudicate", following.uid) if following else "",
        "similar": similar_decided(item=item),
    }
    wrong = any(one is not None and one.errors for one in (form, more, reopen))
    return render(request, "annotation/adjudicate.html", context, status=422 if wrong else 200)


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
        "graded": list(letters.items()),
        "rubric": rubric_of(benchmark, dialogue.category),
        "judgements": _judgements(item, letters, reasons),
        "consensus": _consensus(item, letters),
        "grade_rule": RULES.get(item.round.grade_rule, item.round.grade_rule),
        "decisions": [_decision(one, letters) for one in item.adjudications.select_related("decided_by")],
        "given_back": item.assignments.filter(skip="unjudgeable").values_list("reason", flat=True),
        "problems": item.audio_problems.select_related("variant"),
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
    mixed = sorted(
        judgements_of(item=item),
        key=lambda given: hashlib.sha256(f"{item.uid}:{given.annotator.uid}".encode()).digest(),
    )
    return [_judgement(number, given, letters, reasons) for number, given in enumerate(mixed, start=1)]


def _judgement(number: int, given: Judgement, letters: dict[str, str], reasons: dict[str, str]) -> dict[str, Any]:
    by_letter = {letters.get(grade.variant.uid): grade.value for grade in given.grades.all()}
    return {
        "alias": _("Judge %(number)d") % {"number": number},
        "verdict": given.verdict,
        "verdict_label": given.get_verdict_display(),
        "reasons": [reasons.get(code, code) for code in given.reasons],
        "comment": given.comment,
        "grades": [by_letter.get(letter) for letter in letters.values()],
    }


def _consensus(item: RoundItem, letters: dict[str, str]) -> list[GradeOf | None]:
    found = {grade.variant: grade for grade in item_grades(item=item)}
    return [found.get(uid) for uid in letters]


def _decision(made: Adjudication, letters: dict[str, str]) -> dict[str, Any]:
    return {
        "made": made,
        "label": made.get_verdict_display() if made.verdict else made.get_action_display(),
        "grades": [(letters.get(uid, uid), grade) for uid, grade in made.grades.items()],
    }
