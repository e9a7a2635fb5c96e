"""The settings of a round at work: its rules, its dates, a pause with a reason, and worked examples with sound."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation.forms import ExampleForm, RoundRulesForm, RoundStateForm, rules_known
from annotation.models import Round
from annotation.selectors import round_for
from annotation.services import example_add, example_remove, round_update
from annotation.views.rounds import chores_hand_out
from eqstudio.access import can_curate
from eqstudio.errors import StudioError
from generation.media import clip_card
from generation.models import Dialogue, Variant
from generation.views.guards import curating, person

FOUND_SHOWN = 10
LINE_LENGTH = 80


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def round_settings(request: HttpRequest, uid: str) -> HttpResponse:
    """Change the rules while people work; what the form cannot take is said beside the field."""
    found = round_for(person(request), uid, may_do=can_curate)
    form = RoundRulesForm(request.POST or None, initial=rules_known(found))
    if request.method == "POST" and form.is_valid():
        try:
            round_update(round=found, actor=person(request), **form.rules())
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("The rules are saved. They hold for what is handed out from now on."))
            chores_hand_out(request, found)
            return redirect("round_settings", found.uid)
    return _page(request, found, form=form, status=422 if form.errors else 200)


def _page(
    request: HttpRequest,
    round_: Round,
    *,
    form: RoundRulesForm | None = None,
    example: ExampleForm | None = None,
    status: int = 200,
) -> HttpResponse:
    holder = person(request).uid
    examples = round_.examples.select_related("variant__clip", "variant__turn__dialogue").prefetch_related(
        "variant__clip__renditions"
    )
    context = {
        "round": round_,
        "tab": "settings",
        "form": form or RoundRulesForm(initial=rules_known(round_)),
        "state_form": RoundStateForm(initial={"state": round_.state}),
        "examples": [
            (row, clip_card(clip=row.variant.clip, holder=holder)) for row in examples if row.variant.clip is not None
        ],
        **_choosing(request, round_, example),
    }
    return render(request, "annotation/round_settings.html", context, status=status)


def _choosing(request: HttpRequest, round_: Round, example: ExampleForm | None) -> dict[str, Any]:
    """Dialogues that were looked for, or the versions of the one that was chosen."""
    words = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    chosen = Dialogue.objects.filter(uid=request.GET.get("dialogue", "") or request.POST.get("dialogue", "")).first()
    offered = Dialogue.objects.none()
    if words and chosen is None:
        offered = Dialogue.objects.filter(title__icontains=words, turns__variants__clip__isnull=False).distinct()
        offered = offered.exclude(round_items__round=round_).order_by("title", "pk")
    if example is None and chosen is not None:
        example = ExampleForm(variants=_versions(chosen))
    return {"q": words, "offered": list(offered[:FOUND_SHOWN]), "chosen": chosen, "example_form": example}


def _versions(dialogue: Dialogue) -> list[tuple[str, str]]:
    """The spoken versions of a dialogue by uid, named by line, label and words."""
    rows = Variant.objects.filter(turn__dialogue=dialogue, clip__isnull=False).select_related("turn")
    return [
        (row.uid, f"{row.turn.position} · {row.label} · {row.text[:LINE_LENGTH]}")
        for row in rows.order_by("turn__position", "label")
    ]


@require_POST
@curating
def round_example(request: HttpRequest, uid: str) -> HttpResponse:
    """Add a worked example."""
    found = round_for(person(request), uid, may_do=can_curate)
    dialogue = Dialogue.objects.filter(uid=request.POST.get("dialogue", "")).first()
    form = ExampleForm(request.POST, variants=_versions(dialogue) if dialogue else [])
    if form.is_valid():
        given = form.cleaned_data
        variant = Variant.objects.select_related("turn").get(uid=given["variant"])
        try:
            example_add(round=found, variant=variant, grade=given["grade"], why=given["why"], actor=person(request))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("The example is part of the guidelines now."))
            return redirect("round_settings", found.uid)
    return _page(request, found, example=form, status=422)


@require_POST
@curating
def round_example_remove(request: HttpRequest, uid: str, example: str) -> HttpResponse:
    """Take a worked example away."""
    found = round_for(person(request), uid, may_do=can_curate)
    example_remove(
        example=get_object_or_404(found.examples.select_related("round", "variant"), uid=example), actor=person(request)
    )
    messages.success(request, _("The example is gone from the guidelines."))
    return redirect("round_settings", found.uid)
