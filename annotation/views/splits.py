"""Splits: what would go in, what is in, may it be released, and how it leaves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.domain.curation import Recipe
from annotation.forms_curation import AuditForm, RecipeFileForm, RecipeForm, WithdrawalForm
from annotation.forms_export import ExportForm
from annotation.models import Freeze, Round, Split
from annotation.selectors import freeze_for, split_for
from annotation.selectors.gates import latest_release, split_gates
from annotation.selectors.preview import split_preview
from annotation.selectors.splits import recipe_names_check, sources_of
from annotation.views.audits import audit_context
from annotation.views.exports import exports_context
from annotation.views.freezes import freeze_begin
from annotation.words_curation import (
    BALANCED_LABELS,
    GATE_LABELS,
    MEASURE_LABELS,
    SHORT_LABELS,
    SIDE_LABELS,
    STEP_LABELS,
)
from eqstudio.access import can_administer
from eqstudio.errors import StudioError
from generation.models import LANGUAGES, Corpus, Dialogue
from generation.views.guards import curating, person
from generation.words import category_label

PER_PAGE = 50
FREEZES_SHOWN = 5
FAILURES_SHOWN = timedelta(days=1)


@require_safe
@curating
def splits(request: HttpRequest) -> HttpResponse:
    """All frozen splits, newest version first, and above them what is being frozen or could not be today."""
    found = Split.objects.select_related("round", "corpus").defer("manifest")
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    lately = Q(state=Freeze.State.FAILED, created__gte=timezone.now() - FAILURES_SHOWN)
    freezes = Freeze.objects.filter(Q(state__in=[Freeze.State.WAITING, Freeze.State.RUNNING]) | lately)
    return render(request, "annotation/splits.html", {"page_obj": page, "freezes": freezes[:FREEZES_SHOWN]})


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def split_new(request: HttpRequest) -> HttpResponse:
    """Say where items come from and which, or read it from a file; see what that gives; have the worker freeze it, or keep it as a file."""
    if "read" in request.POST:
        return _read_file(request)
    form = RecipeForm(request.POST or None, initial=_initial(request))
    asked = next((name for name in ("count", "keep") if name in request.POST), "freeze")
    valid = request.method == "POST" and form.is_valid()
    if valid and asked == "freeze":
        return freeze_begin(name=form.cleaned_data["name"], recipe=form.recipe(), actor=person(request))
    if valid and asked == "keep":
        return recipe_file(form.recipe(), form.cleaned_data["name"])
    failed = asked != "count" and bool(form.errors)
    context = {"form": form, "file_form": RecipeFileForm(), **preview_context(form)}
    return render(request, "annotation/split_new.html", context, status=422 if failed else 200)


def _read_file(request: HttpRequest) -> HttpResponse:
    """Fill the form from a file; nothing is frozen by it."""
    file_form = RecipeFileForm(request.POST, request.FILES)
    form, status = RecipeForm(), 422
    if file_form.is_valid():
        try:
            recipe = file_form.recipe()
            recipe_names_check(recipe)
            sources_of(recipe)  # a name that there is not would be left out of the form without a word
            initial = RecipeForm.initial_of(recipe) | {"name": request.POST.get("name", "")}
            form, status = RecipeForm(initial=initial), 200
        except StudioError as error:
            file_form.add_error("file", error.message)
    context = {"form": form, "file_form": file_form, "preview": None}
    return render(request, "annotation/split_new.html", context, status=status)


def recipe_file(recipe: Recipe, name: str) -> HttpResponse:
    """A recipe as a TOML file to download."""
    answer = HttpResponse(recipe.as_toml(), content_type="application/toml; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.toml"'
    return answer


def _initial(request: HttpRequest) -> dict[str, Any]:
    given: dict[str, Any] = RecipeForm.initial_of(Recipe())
    if (uid := request.GET.get("round")) and (found := Round.objects.filter(uid=uid).first()):
        given["rounds"] = [found.name]
    if (uid := request.GET.get("corpus")) and (corpus := Corpus.objects.filter(uid=uid).first()):
        given["corpus"] = corpus.name
    if uid := request.GET.get("freeze"):
        asked = freeze_for(person(request), uid)
        given |= RecipeForm.initial_of(Recipe.from_dict(asked.recipe)) | {"name": asked.name}
    if uid := request.GET.get("split"):
        before = split_for(person(request), uid)
        known = {name: value for name, value in before.recipe.items() if name in Recipe().as_dict()}
        given |= RecipeForm.initial_of(Recipe.from_dict(known)) | {"name": before.name}
    return given


def preview_context(form: RecipeForm) -> dict[str, Any]:
    """What the recipe would take; nothing while it is not filled in or says nowhere from. The name does not matter yet."""
    if not form.is_bound or not any(form.data.get(name) for name in ("rounds", "corpus")):
        return {"preview": None}
    form.is_valid()
    wrong = [error for field, errors in form.errors.items() if field != "name" for error in errors]
    if wrong:
        return {"preview": None, "wrong": wrong}
    preview = split_preview(sources=form.sources, recipe=form.recipe(), name=form.cleaned_data.get("name", ""))
    alias = preview.benchmarks[0][0] if len(preview.benchmarks) == 1 else ""
    return {
        "preview": preview,
        "steps": [(STEP_LABELS[step.rule], step) for step in preview.steps],
        "shortfalls": shortfall_rows(short.as_dict() for short in preview.shortfalls),
        "tables": [
            (BALANCED_LABELS[name], [(value_label(name, value, alias), count) for value, count in rows])
            for name, rows in preview.counts.items()
            if len(rows) > 1 or name in {"category", "language"}
        ],
        "sides": [(SIDE_LABELS[side], count) for side, count in preview.sides],
        "agreements": [
            (label, MEASURE_LABELS.get(found.measure, found.measure), found.estimate)
            for label, found in ((_("before"), preview.before), (_("after"), preview.after))
            if found is not None
        ],
    }


def value_label(name: str, value: str, alias: str) -> Any:
    """A value of a recipe's field as pages show it."""
    if name == "category" and alias:
        return category_label(alias, value)
    known = {"language": dict(LANGUAGES), "source": dict(Dialogue.Source.choices)}.get(name, {})
    return known.get(value, value) or _("none")


def shortfall_rows(shortfalls: Iterable[dict[str, Any]]) -> list[tuple[Any, str, float, float]]:
    return [
        (SHORT_LABELS.get(str(short["rule"]), short["rule"]), short["value"], short["wanted"], short["got"])
        for short in shortfalls
    ]


@require_safe
@curating
def split_counts(request: HttpRequest) -> HttpResponse:
    """What the form as it stands would take, for the page to show while it is filled in."""
    return render(request, "annotation/split_counts.html", preview_context(RecipeForm(request.GET)))


@require_safe
@curating
def split_recipe(request: HttpRequest, uid: str) -> HttpResponse:
    """The recipe of a frozen split, as a file that freezes the same again."""
    found = split_for(person(request), uid)
    known = {name: value for name, value in found.recipe.items() if name in Recipe().as_dict()}
    recipe = Recipe.from_dict(known)
    if not recipe.rounds and not recipe.corpus:
        recipe = (
            replace(recipe, rounds=(found.round.name,))
            if found.round
            else replace(recipe, corpus=found.corpus.name if found.corpus else "")
        )
    return recipe_file(recipe, str(found))


@require_safe
@curating
def split_page(request: HttpRequest, uid: str) -> HttpResponse:
    """One version: what is in it, by which recipe, may it be released, its audits and exports."""
    found = split_for(person(request), uid)
    items = found.items.select_related("dialogue")
    page = Paginator(items, PER_PAGE).get_page(request.GET.get("page"))
    release = latest_release(split=found)
    context = {
        "recipe": [(name, value) for name, value in told_recipe(found).items() if value],
        "code": found.manifest.get("code", {}),
        "benchmark_version": found.manifest.get("benchmark_version", ""),
        "versions": Split.objects.filter(name=found.name).only("uid", "name", "version", "item_count", "frozen_at"),
        "page_obj": page,
        "rows": [(item, category_label(item.dialogue.benchmark, item.dialogue.category)) for item in page],
        "sides": [
            (SIDE_LABELS.get(side, side), count)
            for side, count in found.items.order_by("side").values_list("side").annotate(count=Count("pk"))
        ],
        "shortfalls": shortfall_rows(found.manifest.get("shortfalls", [])),
        "withdrawn": found.manifest.get("withdrawn", []),
        "gates": [(GATE_LABELS[gate.name], gate) for gate in split_gates(split=found)],
        "release": release,
        "is_newest": not Split.objects.filter(name=found.name, version__gt=found.version).exists(),
        "may_waive": can_administer(request.user),
        "export_form": ExportForm(benchmark=found.benchmark),
        "audit_form": AuditForm(split=found),
        "reason_form": WithdrawalForm(),
        **audit_context(found),
        **exports_context(found),
    }
    return render(request, "annotation/split.html", context)


def told_recipe(split: Split) -> dict[str, Any]:
    """What its recipe asked for, with the outcome, which is always asked for."""
    plain = Recipe().as_dict()
    told = {name: value for name, value in split.recipe.items() if value != plain.get(name)}
    told = {name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in told.items()}
    return {"outcome": split.recipe.get("outcome", "kept"), **told}
