"""People and models side by side: a sentence, a leaderboard, where they differ, and the items behind it."""

from __future__ import annotations

import csv
import io
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.models import SplitItem
from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Benchmark, Metric
from eqstudio.charts import forest_svg, leaderboard_svg
from eqstudio.errors import NotFound
from eqstudio.estimates import Estimate
from evaluation.models import ScoreRecord, Sitting, Study
from evaluation.selectors import study_to_curate_for
from evaluation.services import comparison_build, items_apart
from evaluation.services.comparisons import BY, PEOPLE
from evaluation.words import SYSTEMS, TESTS, comparison_sentence, metric_label
from generation.models import Dialogue
from generation.views.guards import curating, person

CACHE_SECONDS = 3600
ITEMS_SHOWN = 50
HEADLINE_ORDER = {"people": 0, "person": 1, "model": 2, "imported": 2, "rule": 3, "chance": 4}


@require_safe
@never_cache
@curating
def comparison(request: HttpRequest, uid: str) -> HttpResponse:
    study = study_to_curate_for(person(request), uid)
    benchmark = benchmark_get(study.benchmark)
    filters, by = _asked(request)
    result = comparison_cached(study, filters, by)
    metric = _headline(benchmark)
    label = metric_label(metric, get_language() or "en")
    rows = _rows(result, benchmark)
    chosen = _chosen(request, result, metric)
    context = {
        "study": study,
        "benchmark": benchmark,
        "result": result,
        "sentence": comparison_sentence(result, metric, label),
        "metric": metric,
        "metric_label": label,
        "columns": [(one.name, metric_label(one, get_language() or "en")) for one in benchmark.metrics],
        "rows": rows,
        "has_answers": any(entry["kind"] != "chance" for entry in result["respondents"]),
        **_pairs(result, chosen),
        "groups": _group_rows(result, benchmark, metric),
        "filters": filters,
        "by": by,
        "choices": _choices(study, benchmark),
        "query": request.GET.urlencode(),
        "systems": [entry for entry in result["respondents"] if entry["kind"] in SYSTEMS or entry["kind"] == "rule"],
        "chosen": chosen,
        "apart": _apart(study, chosen, filters) if chosen else [],
    }
    return render(request, "evaluation/comparison.html", context)


@require_safe
@never_cache
@curating
def comparison_chart(request: HttpRequest, uid: str, chart: str) -> HttpResponse:
    """The leaderboard or the forest as SVG."""
    study = study_to_curate_for(person(request), uid)
    benchmark = benchmark_get(study.benchmark)
    filters, by = _asked(request)
    metric = _headline(benchmark)
    axis = metric_label(metric, get_language() or "en")
    if chart == "leaderboard":
        result = comparison_cached(study, filters, by)
        svg = leaderboard_svg(_chart_rows(result["respondents"], metric), axis=axis, chance=metric.chance)
    elif chart == "forest":
        result = comparison_cached(study, filters, by)
        chosen = _chosen(request, result, metric)
        shown = {PEOPLE, *([chosen["name"]] if chosen else [])}
        points = [
            {**row, "group": group_label(benchmark, by, next(iter(group["by"].values())))}
            for group in result["groups"]
            for row in _chart_rows(group["respondents"], metric)
            if row["name"] in shown
        ]
        svg = forest_svg(points, axis=axis, chance=metric.chance)
    else:
        raise NotFound(_("There is no such chart."))
    response = HttpResponse(svg, content_type="image/svg+xml")
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{study.name}-{chart}.svg"'
    return response


@require_safe
@curating
def comparison_csv(request: HttpRequest, uid: str) -> HttpResponse:
    """Every figure of the page, one a line."""
    study = study_to_curate_for(person(request), uid)
    filters, by = _asked(request)
    result = comparison_cached(study, filters, by)
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["group", "respondent", "kind", "figure", "value", "lo", "hi", "n", "reason"])
    tables = [("", result["respondents"])]
    tables += [(next(iter(group["by"].values())), group["respondents"]) for group in result["groups"]]
    for group, entries in tables:
        for entry in entries:
            for name, figure in {**entry["estimates"], "unparsed": entry["unparsed"]}.items():
                writer.writerow([group, _safe(entry["name"]), entry["kind"], name, *figure.values()])
    for pair in result["pairs"]:
        name = _safe(f"{pair['a']} - {pair['b']}")
        writer.writerow(["", name, "pair", pair["metric"], *pair["difference"].values()])
    response = HttpResponse(buffer.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.name}-comparison.csv"'
    return response


def _safe(text: str) -> str:
    """A name that a spreadsheet would take for a formula is marked as text."""
    return f"'{text}" if text[:1] in "=+-@\t" else text


def comparison_cached(study: Study, filters: dict[str, str], by: str) -> dict[str, Any]:
    """The comparison, computed once for one state of the answers."""
    state = ScoreRecord.objects.filter(response__trial__sitting__respondent__study=study).aggregate(last=Max("pk"))
    sittings = Sitting.objects.filter(respondent__study=study).aggregate(
        all=Count("pk"), open=Count("pk", filter=Q(state="open")), cancelled=Count("pk", filter=Q(state="cancelled"))
    )
    key = f"comparison:{study.uid}:{state['last']}:{sorted(sittings.items())}:{sorted(filters.items())}:{by}".replace(
        " ", ""
    )
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        headline = benchmark_get(study.benchmark).headline
        found = comparison_build(study=study, by=by, filters=filters, pair_metrics=[headline])
        cache.set(key, found, CACHE_SECONDS)
    return found


def _asked(request: HttpRequest) -> tuple[dict[str, str], str]:
    filters = {name: request.GET[name][:80] for name in BY if request.GET.get(name)}
    by = request.GET.get("by", "category")
    return filters, by if by in BY else "category"


def _headline(benchmark: Benchmark) -> Metric:
    return next(metric for metric in benchmark.metrics if metric.name == benchmark.headline)


def _rows(result: dict[str, Any], benchmark: Benchmark) -> list[dict[str, Any]]:
    """The leaderboard: people, persons, models best first, rules, chance."""
    sign = -1 if _headline(benchmark).higher_is_better else 1
    rows = []
    for entry in result["respondents"]:
        figures = {name: Estimate(**figure) for name, figure in entry["estimates"].items()}
        headline = figures[benchmark.headline].value
        rank = (HEADLINE_ORDER[entry["kind"]], sign * headline if headline is not None else float("inf"))
        read = entry["unparsed"]["value"]
        rows.append(
            {
                **entry,
                "cells": [figures[metric.name] for metric in benchmark.metrics],
                "headline": figures[benchmark.headline],
                "seq": figures.get("seq"),
                "read": None if read is None else 1 - read,
                "answers": entry["unparsed"]["n"],
                "too_many_unread": read is not None and read > 0.05,  # noqa: PLR2004 -- the limit the page states
                "rank": rank,
            }
        )
    return sorted(rows, key=lambda row: row["rank"])


def _chart_rows(entries: list[dict[str, Any]], metric: Metric) -> list[dict[str, Any]]:
    known = [entry for entry in entries if entry["estimates"][metric.name]["value"] is not None]
    sign = -1 if metric.higher_is_better else 1
    known.sort(key=lambda entry: (HEADLINE_ORDER[entry["kind"]], sign * entry["estimates"][metric.name]["value"]))
    return [
        {
            "name": entry["name"],
            "kind": entry["kind"],
            **{edge: entry["estimates"][metric.name][edge] for edge in ("value", "lo", "hi")},
        }
        for entry in known
    ]


def _pairs(result: dict[str, Any], chosen: dict[str, Any] | None) -> dict[str, list[dict[str, Any]]]:
    """Those that people or the respondent looked at take part in come first, the others under a disclosure."""
    named = {PEOPLE, *([chosen["name"]] if chosen else [])}
    pairs = [
        {**pair, "difference": Estimate(**pair["difference"]), "test": TESTS[pair["test"]]} for pair in result["pairs"]
    ]
    first = [pair for pair in pairs if named & {pair["a"], pair["b"]}]
    return {"pairs": first, "other_pairs": [pair for pair in pairs if pair not in first]}


def _group_rows(result: dict[str, Any], benchmark: Benchmark, metric: Metric) -> list[dict[str, Any]]:
    by = result["by"]
    return [
        {
            "label": group_label(benchmark, by, next(iter(group["by"].values()))),
            "items": group["items"],
            "cells": [
                Estimate(**entry["estimates"][metric.name])
                for entry in group["respondents"]
                if entry["kind"] != "person"
            ],
        }
        for group in result["groups"]
    ]


def group_label(benchmark: Benchmark, by: str, value: str) -> str:
    """What a reader calls a group."""
    if by != "category":
        return value
    try:
        return benchmark.category(value).label["zh" if (get_language() or "en").startswith("zh") else "en"]
    except KeyError:
        return value


def _choices(study: Study, benchmark: Benchmark) -> dict[str, list[tuple[str, str]]]:
    """The values that occur in the split, for the filters."""
    found = SplitItem.objects.filter(split=study.split).order_by()
    return {
        name: [
            (value, group_label(benchmark, name, value))
            for value in sorted(found.values_list(path, flat=True).distinct())
        ]
        for name, path in BY.items()
    }


def _chosen(request: HttpRequest, result: dict[str, Any], metric: Metric) -> dict[str, Any] | None:
    """The respondent whose items are looked at: the one asked for, else the best model."""
    systems = [entry for entry in result["respondents"] if entry["kind"] in SYSTEMS or entry["kind"] == "rule"]
    asked = next((entry for entry in systems if entry["uid"] == request.GET.get("model")), None)
    known = [entry for entry in systems if entry["estimates"][metric.name]["value"] is not None]
    sign = 1 if metric.higher_is_better else -1
    return asked or max(
        known,
        key=lambda entry: (entry["kind"] in SYSTEMS, sign * entry["estimates"][metric.name]["value"]),
        default=None,
    )


def _apart(study: Study, chosen: dict[str, Any], filters: dict[str, str]) -> list[dict[str, Any]]:
    apart = items_apart(study=study, respondent=chosen["uid"], filters=filters)[:ITEMS_SHOWN]
    dialogues = Dialogue.objects.in_bulk([one.dialogue for one in apart])
    return [{"dialogue": dialogues[one.dialogue], "people": one.people, "model": one.respondent} for one in apart]
