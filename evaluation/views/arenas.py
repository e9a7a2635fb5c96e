"""Arenas for researchers: open one, see what it came to, close it, take the numbers along."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from eqstudio.charts import leaderboard_svg, svg_themed
from eqstudio.errors import NotFound, StudioError
from eqstudio.estimates import Estimate
from eqstudio.tables import csv_lines
from evaluation.figures import Figure
from evaluation.forms_arena import ArenaForm
from evaluation.models import Arena
from evaluation.selectors import study_to_curate_for
from evaluation.selectors.rationales import arena_to_curate_for
from evaluation.services.arena_results import COLUMNS, arena_ratings, arena_results
from evaluation.services.arenas import arena_create, arena_set_open
from evaluation.views.figures import FORMS
from generation.views.guards import curating, person

FIGURES = ("mean", "strength", "rank_by_mean", "rank_by_strength")
COLUMNS_SHOWN = ("rank_by_strength", "strength", "rank_by_mean", "mean")
EDGES = ("value", "lo", "hi", "n")
CHARTS = ("mean", "strength")


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def arenas(request: HttpRequest, uid: str) -> HttpResponse:
    """The arenas of a study, and a form for a new one."""
    study = study_to_curate_for(person(request), uid)
    form = ArenaForm(request.POST or None, study=study)
    if request.method == "POST" and form.is_valid():
        try:
            made = arena_create(study=study, actor=person(request), **form.cleaned_data)
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            return redirect("arena", made.uid)
    context = {"study": study, "form": form, "arenas": list(Arena.objects.filter(study=study))}
    return render(request, "evaluation/arenas.html", context, status=422 if form.errors else 200)


@require_safe
@never_cache
@curating
def arena(request: HttpRequest, uid: str) -> HttpResponse:
    """Who was rated best, with intervals, and how far raters agree."""
    found = arena_to_curate_for(person(request), uid)
    result = arena_results(arena=found, with_key=_with_key(request))
    rows = [
        {
            "name": one["name"],
            "cells": [(name.startswith("rank"), Estimate(**one[name])) for name in COLUMNS_SHOWN],
        }
        for one in result["systems"]
    ]
    context = {
        "arena": found,
        "study": found.study,
        "result": result,
        "rows": rows,
        "charts": [
            (
                "strength",
                # xgettext:no-python-format -- a share, nothing to fill in
                _("Strength of each system with its 95 % interval; the same figures stand in the table below"),
            ),
            (
                "mean",
                # xgettext:no-python-format -- a share, nothing to fill in
                _("Mean rating of each system with its 95 % interval; the same figures stand in the table below"),
            ),
        ],
        "nu": Estimate(**result["nu"]),
        "agreement": {name: Estimate(**figure) for name, figure in result["agreement"].items()},
        "questions": found.questions.count(),
        "with_key": result["with_key"],
        "query": "key=1" if result["with_key"] else "",
    }
    return render(request, "evaluation/arena.html", context)


@require_POST
@curating
def arena_state(request: HttpRequest, uid: str) -> HttpResponse:
    """Close an arena, or open it again."""
    found = arena_to_curate_for(person(request), uid)
    is_open = request.POST.get("open") == "1"
    if arena_set_open(arena=found, is_open=is_open, actor=person(request)):
        messages.success(request, _("The arena is open.") if is_open else _("The arena is closed. Ratings stay."))
    return redirect("arena", uid)


@require_safe
@never_cache
@curating
def arena_chart(request: HttpRequest, uid: str, chart: str) -> HttpResponse:
    """One figure as SVG; ``narrow`` draws it for a phone."""
    found = arena_to_curate_for(person(request), uid)
    svg = _figure(request, found, chart).draw("narrow" in request.GET)
    saved = "download" in request.GET
    response = HttpResponse(svg if saved else svg_themed(svg), content_type="image/svg+xml")
    if saved:
        response["Content-Disposition"] = f'attachment; filename="{found.name}-{chart}.svg"'
    return response


@require_safe
@never_cache
@curating
def arena_figure(request: HttpRequest, uid: str, chart: str, form: str) -> HttpResponse:
    """One figure as a picture, or its numbers as CSV or as a LaTeX table."""
    found = arena_to_curate_for(person(request), uid)
    if form not in FORMS:
        raise NotFound(_("There is no such form of a figure."))
    write, content_type = FORMS[form]
    response = HttpResponse(write(_figure(request, found, chart)), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{found.name}-{chart}.{form}"'
    return response


def _figure(request: HttpRequest, found: Arena, chart: str) -> Figure:
    if chart not in CHARTS:
        raise NotFound(_("There is no such chart."))
    rows = [
        {"name": one["name"], "kind": "model", **{edge: one[chart][edge] for edge in EDGES}}
        for one in arena_results(arena=found, with_key=_with_key(request))["systems"]
        if one[chart]["value"] is not None
    ]
    axis = _("Mean rating, 1 to 10") if chart == "mean" else _("Strength (log odds, mean 0)")
    return Figure(
        chart,
        ("name", *EDGES),
        tuple(rows),
        lambda narrow: leaderboard_svg(rows, axis=axis, chance=None, narrow=narrow),
    )


@require_safe
@curating
def arena_csv(request: HttpRequest, uid: str, table: str) -> Any:
    """``standings``: the figures of the page, one a line; ``ratings``: every rating under pseudonyms."""
    found = arena_to_curate_for(person(request), uid)
    if table not in {"standings", "ratings"}:
        raise NotFound(_("There is no such table."))
    bom = "bom" in request.GET
    if table == "ratings":
        lines = csv_lines(COLUMNS, arena_ratings(arena=found), bom=bom)
    else:
        result = arena_results(arena=found, with_key=_with_key(request))
        lines = csv_lines(("system", "figure", "value", "lo", "hi", "n", "reason"), _standings(result), bom=bom)
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{found.name}-{table}.csv"'
    return response


def _standings(result: dict[str, Any]) -> list[tuple[Any, ...]]:
    edges = ("value", "lo", "hi", "n", "reason")
    rows = [(one["name"], name, *(one[name][edge] for edge in edges)) for one in result["systems"] for name in FIGURES]
    rows += [("", f"agreement {name}", *(found[edge] for edge in edges)) for name, found in result["agreement"].items()]
    return [*rows, ("", "nu of ties", *(result["nu"][edge] for edge in edges))]


def _with_key(request: HttpRequest) -> bool:
    return request.GET.get("key") == "1"
