"""The figures of a comparison as files: drawings, tables, and every number of the page in one table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from eqstudio.charts import png_of, svg_themed
from eqstudio.errors import NotFound
from evaluation.figures import Figure, csv_of, figures, latex_of
from evaluation.figures.base import cell_safe
from evaluation.models import Study
from evaluation.selectors import study_to_curate_for
from evaluation.views.asked import seen
from evaluation.words import COLUMN_WORDS, KINDS, WORDY, respondent_words
from generation.views.guards import curating, person

FORMS: dict[str, tuple[Callable[[Figure], str | bytes], str]] = {
    "csv": (csv_of, "text/csv; charset=utf-8"),
    "tex": (latex_of, "application/x-tex; charset=utf-8"),
    "png": (lambda figure: png_of(figure.draw(False)), "image/png"),  # noqa: FBT003 -- not narrow
}
SHOWN = 200
"""Rows of a figure's table on the page; the files hold all of them."""


@require_safe
@never_cache
@curating
def comparison_chart(request: HttpRequest, uid: str, chart: str) -> HttpResponse:
    """One figure as SVG; ``narrow`` draws it for a phone."""
    study = study_to_curate_for(person(request), uid)
    svg = _figure(request, study, chart).draw("narrow" in request.GET)
    saved = "download" in request.GET
    response = HttpResponse(svg if saved else svg_themed(svg), content_type="image/svg+xml")
    if saved:
        response["Content-Disposition"] = f'attachment; filename="{study.name}-{chart}.svg"'
    return response


@require_safe
@never_cache
@curating
def comparison_table(request: HttpRequest, uid: str, chart: str, form: str) -> HttpResponse:
    """One figure as a picture, or its numbers as CSV, as a LaTeX table, or as a table for the page."""
    study = study_to_curate_for(person(request), uid)
    if form == "html":
        return render(request, "evaluation/parts/figure_table.html", _table(_figure(request, study, chart)))
    if form not in FORMS:
        raise NotFound(_("There is no such form of a figure."))
    write, content_type = FORMS[form]
    response = HttpResponse(write(_figure(request, study, chart)), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{study.name}-{chart}.{form}"'
    return response


def _table(figure: Figure) -> dict[str, Any]:
    """The rows of a figure as a reader would say them."""
    rows = [
        [(_cell(column, row.get(column)), column not in WORDY) for column in figure.columns]
        for row in figure.rows[:SHOWN]
    ]
    heads = [(str(COLUMN_WORDS.get(column, column)), column not in WORDY) for column in figure.columns]
    return {"heads": heads, "rows": rows, "more": max(0, len(figure.rows) - SHOWN)}


def _cell(column: str, value: Any) -> Any:
    if column == "name":
        return respondent_words(value)
    if column == "kind":
        return KINDS.get(value, value)
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return f"{value:.3f}" if isinstance(value, float) else value


def _figure(request: HttpRequest, study: Study, chart: str) -> Figure:
    if chart not in figures:
        raise NotFound(_("There is no such chart."))
    return figures[chart](seen(request, study).view())


@require_safe
@curating
def comparison_csv(request: HttpRequest, uid: str) -> HttpResponse:
    """Every figure of the page, one a line."""
    study = study_to_curate_for(person(request), uid)
    result = seen(request, study).result
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["group", "respondent", "kind", "figure", "value", "lo", "hi", "n", "reason"])
    tables = [("", result["respondents"])]
    tables += [(next(iter(group["by"].values())), group["respondents"]) for group in result["groups"]]
    for group, entries in tables:
        for entry in entries:
            for name, figure in {**entry["estimates"], "unparsed": entry["unparsed"]}.items():
                writer.writerow([group, cell_safe(entry["name"]), entry["kind"], name, *figure.values()])
    for pair in [*result["pairs"], *result["explored"]]:
        name = cell_safe(f"{pair['a']} - {pair['b']}")
        writer.writerow([pair.get("group", ""), name, "pair", pair["metric"], *pair["difference"].values()])
    response = HttpResponse(buffer.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.name}-comparison.csv"'
    return response
