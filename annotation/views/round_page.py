"""The dashboard of a round: coverage, agreement and how it went, what is in dispute, why items are rejected."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.domain.agreement import Agreement, agreement_of
from annotation.domain.prevalence import Prevalence, prevalence
from annotation.models import Round
from annotation.selectors import disputed_items, round_for, round_progress
from annotation.selectors.agreement import agreement_groups
from annotation.selectors.coded import Arrays, round_arrays
from annotation.selectors.consensus import chance_of_rule
from annotation.selectors.dimensions import Dimension, round_dimensions
from annotation.selectors.imported import imported_stamp
from annotation.selectors.overview import (
    PROBLEMS_SHOWN,
    audio_problems,
    over_time,
    reasons_for_rejection,
    unjudgeable,
)
from annotation.views.judge_words import ui_text
from annotation.words import (
    BESIDE,
    BESIDE_ELSEWHERE,
    COEFFICIENTS,
    HEADLINES,
    RULES,
    headline_of,
    prevalence_sentence,
    question_label,
)
from eqstudio.access import can_annotate
from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.charts import over_time_svg, svg_themed
from eqstudio.estimates import Estimate
from generation.views.guards import curating, person

DISPUTES_SHOWN = 10
SHOWN_QUESTIONS = 8
"""Imported ratings may have many dimensions; the rest is on the page about agreement."""


def head(request: HttpRequest, found: Round, tab: str) -> dict[str, Any]:
    """What every page of a round shows above its own part."""
    return {"round": found, "tab": tab, "may_judge": can_annotate(request.user)}


@require_safe
@curating
def round_page(request: HttpRequest, uid: str) -> HttpResponse:
    """One round: progress, agreement with its intervals, disputes, problems, rules."""
    found = round_for(person(request), uid)
    arrays = round_arrays(round=found)
    problems = audio_problems(round=found)
    aside = unjudgeable(round=found)
    labels = _reason_labels(found)
    points = _over_time(found, arrays)
    context = {
        **head(request, found, "overview"),
        **_live(found, arrays),
        "reasons": [(labels.get(code, code), n) for code, n in reasons_for_rejection(round=found, arrays=arrays)],
        "problems": problems[:PROBLEMS_SHOWN],
        "problems_count": problems.count(),
        "aside": aside[:PROBLEMS_SHOWN],
        "aside_count": aside.count(),
        "over_time": points,
        "drawn": any(point["estimate"].value is not None for point in points),
        "rule": RULES.get(found.rule, found.rule),
        "grade_rule": RULES.get(found.grade_rule, found.grade_rule),
        "chance": chance_of_rule(round=found),
    }
    return render(request, "annotation/round.html", context)


@require_safe
@never_cache
@curating
def round_live(request: HttpRequest, uid: str) -> HttpResponse:
    """The part of the dashboard that follows every submit; nothing (204) while nothing has changed."""
    found = round_for(person(request), uid)
    arrays = round_arrays(round=found)
    if request.GET.get("seen") == version_of(arrays):
        return HttpResponse(status=204)
    return render(request, "annotation/round_live.html", {"round": found, **_live(found, arrays)})


def version_of(arrays: Arrays) -> str:
    """A word for the state of a round's judgements."""
    return "-".join(map(str, arrays.seen))


def _live(found: Round, arrays: Arrays) -> dict[str, Any]:
    disputes = disputed_items(round=found)
    return {
        "progress": round_progress(round=found),
        "agreement": _figures(found, arrays),
        "disputes": disputes[:DISPUTES_SHOWN],
        "disputes_count": disputes.count(),
        "seen": version_of(arrays),
    }


def _figures(found: Round, arrays: Arrays) -> list[dict[str, Any]]:
    """For each question its coefficients, and a sentence where prevalence makes them look odd."""
    key = ("figures", imported_stamp(round=found), tuple(found.machine_raters.values_list("pk", flat=True)))
    if key not in arrays.results:
        dimensions = round_dimensions(round=found, arrays=arrays)[:SHOWN_QUESTIONS]
        arrays.results[key] = [(dimension, *_figures_of(dimension)) for dimension in dimensions]
    return [
        {
            "question": question_label(dimension.name),
            "raters": figures.raters,
            "rows": [(COEFFICIENTS[name], figures.estimates[name]) for name in _shown(dimension)],
            "note": paradox and prevalence_sentence(dimension.name, paradox, figures.estimates),
        }
        for dimension, figures, paradox in arrays.results[key]
    ]


def _shown(dimension: Dimension) -> list[str]:
    headline = headline_of(dimension.name, dimension.level)
    return list(dict.fromkeys([headline, *BESIDE.get(dimension.name, BESIDE_ELSEWHERE)]))


def _figures_of(dimension: Dimension) -> tuple[Agreement, Prevalence | None]:
    table, clusters = dimension.people().table()
    names = dict.fromkeys([*_shown(dimension), "alpha_nominal", "ac1"])
    found = agreement_of(table, level=dimension.level, clusters=clusters, names=list(names))
    return found, prevalence(table, found)


def _over_time(found: Round, arrays: Arrays) -> list[dict[str, Any]]:
    """The headline figures on one day after the other."""
    if "over_time" not in arrays.results:
        arrays.results["over_time"] = [
            (dimension.name, point)
            for dimension in round_dimensions(round=found, arrays=arrays)
            if dimension.name in HEADLINES
            for point in over_time(dimension, HEADLINES[dimension.name])
        ]
    return [{"question": question_label(name), **point} for name, point in arrays.results["over_time"]]


@require_safe
@never_cache
@curating
def round_over_time(request: HttpRequest, uid: str) -> HttpResponse:
    """Agreement over time as SVG; ``narrow`` draws it for a phone."""
    found = round_for(person(request), uid)
    rows = [
        {"label": row["label"], "name": row["question"], **row["estimate"].as_dict()}
        for row in _over_time(found, round_arrays(round=found))
        if row["estimate"].value is not None
    ]
    drawn = over_time_svg(rows, axis=_("alpha"), narrow="narrow" in request.GET)
    response = HttpResponse(svg_themed(drawn), content_type="image/svg+xml")
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{found.name}-agreement.svg"'
    return response


def _reason_labels(found: Round) -> dict[str, str]:
    names = [found.benchmark] if found.benchmark in benchmarks else list(benchmarks)
    forms = [benchmark_get(name).review_form for name in names]
    return {reason.code: ui_text(reason.label) for form in forms for reason in form.reasons}


@require_safe
@curating
def round_figure(request: HttpRequest, uid: str) -> HttpResponse:
    """The headline figure of one round, fetched by the list when it is shown."""
    found = round_for(person(request), uid)
    dimensions = round_dimensions(round=found)
    chosen = next((one for one in dimensions if one.name in HEADLINES), dimensions[0] if dimensions else None)
    figure = Estimate.undefined(_("nobody has judged yet")) if chosen is None else _headline(chosen)
    return render(request, "annotation/round_figure.html", {"figure": figure})


def _headline(dimension: Dimension) -> Estimate:
    name = headline_of(dimension.name, dimension.level)
    (group,) = agreement_groups([dimension], names=[name])
    return Estimate(**group["estimates"][name])
