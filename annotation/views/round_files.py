"""What comes into a round as a file, and what leaves it as one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.expert_forms import LARGEST_MB, ImportForm
from annotation.models import Round
from annotation.selectors import round_agreement, round_for
from annotation.selectors.agreement import BY
from annotation.selectors.long_table import HEAD, long_table
from annotation.services import import_withdraw, ratings_import, ratings_preview
from annotation.views.round_page import head
from eqstudio.access import can_curate
from eqstudio.errors import NotFound, StudioError
from eqstudio.tables import csv_lines
from generation.views.guards import curating, person

REFUSALS_SHOWN = 20
ROWS_SHOWN = 5
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


@require_safe
@curating
def round_ratings(request: HttpRequest, uid: str, form: str) -> Any:
    """Every rating that counts as a long table: CSV (``?bom=1`` for spreadsheets) or JSON lines."""
    found = round_for(person(request), uid)
    if form not in TYPES:
        raise NotFound(_("There is no such file."))
    lines = (
        _json_lines(found) if form == "jsonl" else csv_lines(HEAD, long_table(round=found), bom="bom" in request.GET)
    )
    response = StreamingHttpResponse(lines, content_type=TYPES[form])
    response["Content-Disposition"] = f'attachment; filename="{found.name}-ratings.{form}"'
    return response


def _json_lines(found: Round) -> Iterator[str]:
    for row in long_table(round=found):
        yield json.dumps(dict(zip(HEAD, row, strict=True)), ensure_ascii=False) + "\n"


@require_safe
@curating
def round_figures(request: HttpRequest, uid: str) -> HttpResponse:
    """Every coefficient of every group as CSV, one a line."""
    found = round_for(person(request), uid)
    by = request.GET.get("by", "")
    groups = round_agreement(round=found, by=by if by in BY else None)
    columns = ("question", "group", "items", "ratings", "raters", "coefficient", "value", "lo", "hi", "n", "reason")
    rows = (
        (*(group[name] for name in ("dimension", "by", "items", "ratings", "raters")), name, *_edges(estimate))
        for group in groups
        for name, estimate in group["estimates"].items()
    )
    lines = csv_lines(columns, rows, bom="bom" in request.GET)
    response = HttpResponse("".join(lines), content_type=TYPES["csv"])
    response["Content-Disposition"] = f'attachment; filename="{found.name}-agreement.csv"'
    return response


def _edges(estimate: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(estimate[name] for name in ("value", "lo", "hi", "n", "reason"))


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def round_import(request: HttpRequest, uid: str) -> HttpResponse:
    """Take a file of ratings into the round, and say what was refused."""
    found = round_for(person(request), uid, may_do=can_curate)
    form = ImportForm(request.POST or None, request.FILES or None)
    told = None
    if request.method == "POST" and form.is_valid():
        try:
            told = ratings_import(round=found.name, **form.arguments(), actor=person(request))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else "file", error.message)
        else:
            if not told["refused"]:
                messages.success(request, _("%(n)d ratings stored.") % {"n": told["created"]})
                if told["elsewhere"]["items"]:
                    messages.warning(request, _elsewhere(told["elsewhere"]))
                return redirect("round_agreement", found.uid)
    context = {
        **head(request, found, "agreement"),
        "form": form,
        "elsewhere": _elsewhere(told["elsewhere"]) if told else "",
        "told": told and {**told, "refused": told["refused"][:REFUSALS_SHOWN], "refused_count": len(told["refused"])},
        "most_mb": LARGEST_MB,
    }
    return render(request, "annotation/round_import.html", context, status=422 if form.errors else 200)


def _elsewhere(told: dict[str, Any]) -> str:
    """The warning of items that a round does not have; empty when it has them all."""
    if not told["items"]:
        return ""
    words = ngettext(
        "%(n)d item is not in this round (rows %(rows)s). Its ratings are kept and counted under their own code.",
        "%(n)d items are not in this round (rows %(rows)s). Their ratings are kept and counted under their own codes.",
        told["items"],
    )
    return words % {"n": told["items"], "rows": ", ".join(map(str, told["rows"]))}


@require_POST
@curating
def round_import_withdraw(request: HttpRequest, uid: str) -> HttpResponse:
    """Take one import out of the figures again."""
    found = round_for(person(request), uid, may_do=can_curate)
    source = found.ratings_imports.filter(uid=request.POST.get("import", "")).first()
    if source is None:
        raise NotFound(_("There is no such import in this round."))
    import_withdraw(source=source, reason=request.POST.get("reason", ""), actor=person(request))
    messages.success(request, _("The import is taken out. Its ratings stay stored and enter no figure."))
    return redirect("round_agreement", found.uid)


@require_POST
@curating
def round_import_preview(request: HttpRequest, uid: str) -> HttpResponse:
    """What an import of this file would do: counts, first rows, first refusals. Stores nothing."""
    found = round_for(person(request), uid, may_do=can_curate)
    form = ImportForm(request.POST, request.FILES)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        try:
            seen = ratings_preview(round=found, **form.arguments())
        except StudioError as error:
            context["error"] = error.message
        else:
            context["seen"] = {
                **seen,
                "elsewhere": _elsewhere(seen["elsewhere"]),
                "rows": seen["rows"][:ROWS_SHOWN],
                "refused": seen["refused"][:REFUSALS_SHOWN],
                "refused_count": len(seen["refused"]),
            }
    return render(request, "annotation/round_import_preview.html", context)
