"""Agreement in full: every coefficient by every grouping, pairs of people as a matrix, and what a pair differs on."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.domain.agreement import NAMES, NOMINAL
from annotation.models import Round, RoundItem
from annotation.selectors import round_for
from annotation.selectors.agreement import agreement_groups
from annotation.selectors.coded import round_arrays
from annotation.selectors.consensus import model_tables
from annotation.selectors.dimensions import GRADE, VERDICT, Dimension, round_dimensions
from annotation.selectors.imported import imported_stamp, ratings_imports
from annotation.selectors.overview import imported_raters
from annotation.selectors.pairs import Cell, differing, pair_cells
from annotation.services import machine_raters_set
from annotation.views.round_page import head
from annotation.words import COEFFICIENTS, GROUPINGS, group_label, headline_of, question_label, value_label
from eqstudio.access import can_curate
from eqstudio.errors import InvalidInput
from eqstudio.estimates import Estimate
from generation.models import Variant
from generation.views.guards import curating, person

PER_PAGE = 50
GROUPS_SHOWN = 200
MATRIX_PEOPLE = 40
"""A wider matrix reads badly; the download has every pair."""


@require_safe
@curating
def round_agreement_page(request: HttpRequest, uid: str) -> HttpResponse:
    """Every coefficient for one question, by one grouping; both are in the address."""
    found = round_for(person(request), uid)
    dimensions = round_dimensions(round=found)
    chosen = _chosen(request, dimensions)
    by = request.GET.get("by", "")
    by = by if by in GROUPINGS else ""
    names: tuple[str, ...] = (
        NOMINAL if chosen and (chosen.level == "nominal" or chosen.table()[0].numbers is None) else NAMES
    )
    headline = headline_of(chosen.name, chosen.level) if chosen else ""
    names = tuple(sorted(names, key=lambda name: name != headline))
    context = {
        **head(request, found, "agreement"),
        "questions": [(one.name, question_label(one.name)) for one in dimensions],
        "chosen": chosen.name if chosen else "",
        "versions": chosen is not None and chosen.name == GRADE,
        "by": by,
        "groupings": list(GROUPINGS.items()),
        "headline": headline,
        "names": [(name, COEFFICIENTS[name]) for name in names],
        "groups": _groups(found, chosen, by, names) if chosen else [],
        "raters": _raters(found),
        "imports": ratings_imports(round=found),
        "model": _model(found, chosen) if chosen else None,
    }
    return render(request, "annotation/round_agreement.html", context)


def _chosen(request: HttpRequest, dimensions: list[Dimension]) -> Dimension | None:
    asked = request.GET.get("question")
    return next((one for one in dimensions if one.name == asked), dimensions[0] if dimensions else None)


def _groups(found: Round, dimension: Dimension, by: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
    arrays = round_arrays(round=found)
    key = ("groups", dimension.name, imported_stamp(round=found), tuple(sorted(dimension.machines)), by)
    if key not in arrays.results:
        arrays.results[key] = agreement_groups([dimension], by=by or None, names=names)[:GROUPS_SHOWN]
    return [
        {
            **group,
            "label": group_label(by, group["by"], dimension) if by else _("whole round"),
            "cells": [(name, Estimate(**group["estimates"][name])) for name in names],
        }
        for group in arrays.results[key]
    ]


def _raters(found: Round) -> list[dict[str, Any]]:
    """Raters of imported judgements, to say which are machines."""
    machines = set(found.machine_raters.values_list("name", flat=True))
    return [{"name": name, "n": n, "machine": name in machines} for name, n in imported_raters(round=found)]


def _model(found: Round, dimension: Dimension) -> dict[str, Any] | None:
    """Dawid and Skene's model in words, for grades and verdicts."""
    if dimension.name not in (GRADE, VERDICT):
        return None
    tables = model_tables(round=found, question=dimension.name)
    if tables is None:
        return None
    labels = [value_label(dimension.name, value) for value in tables["values"]]
    people = [{"name": one["name"], "rows": list(zip(labels, one["matrix"], strict=True))} for one in tables["people"]]
    return {**tables, "labels": labels, "shares": list(zip(labels, tables["priors"], strict=True)), "people": people}


@require_safe
@never_cache
@curating
def round_matrix(request: HttpRequest, uid: str) -> HttpResponse:
    """Who agrees with whom, fetched when it is looked at."""
    found = round_for(person(request), uid)
    chosen = _chosen(request, round_dimensions(round=found))
    context: dict[str, Any] = {"round": found, "names": [], "rows": []}
    if chosen is not None:
        name = headline_of(chosen.name, chosen.level)
        arrays = round_arrays(round=found)
        key = ("matrix", chosen.name, imported_stamp(round=found))
        if key not in arrays.results:
            arrays.results[key] = pair_cells(chosen, name, most=MATRIX_PEOPLE)
        names, cells = arrays.results[key]
        rows = [(code, label, [cells.get((code, other)) for other, _label in names]) for code, label in names]
        context = {
            "round": found,
            "question": chosen.name,
            "coefficient": COEFFICIENTS[name],
            "names": names,
            "rows": [
                (label, [_cell(cell, code, other) for cell, (other, _l) in zip(row, names, strict=True)])
                for code, label, row in rows
            ],
            "more": max(0, len(np.unique(chosen.rater)) - MATRIX_PEOPLE),
        }
    return render(request, "annotation/round_matrix.html", context)


def _cell(cell: Cell | None, first: int, second: int) -> dict[str, Any]:
    if cell is None:
        return {"itself": first == second}
    value = cell.estimate.value
    shade = "" if value is None else f"shade{min(4, max(0, int((value + 0.2) * 5)))}"
    return {
        "estimate": cell.estimate,
        "shared": cell.shared,
        "differ": cell.differ,
        "shade": shade,
        "a": first,
        "b": second,
    }


@require_safe
@curating
def round_pair(request: HttpRequest, uid: str) -> HttpResponse:
    """The items on which two people differ, widest first, with what each said."""
    found = round_for(person(request), uid)
    chosen = _chosen(request, round_dimensions(round=found))
    if chosen is None:
        raise InvalidInput(_("Nobody has judged yet."), field="question")
    first, second = (_rater(request.GET.get(side), chosen) for side in ("a", "b"))
    rows = differing(chosen, first, second)
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        **head(request, found, "agreement"),
        "question": chosen.name,
        "question_label": question_label(chosen.name),
        "first": chosen.raters[first],
        "second": chosen.raters[second],
        "page_obj": page,
        "rows": _named(chosen, list(page)),
    }
    return render(request, "annotation/round_pair.html", context)


def _rater(asked: str | None, dimension: Dimension) -> int:
    code = int(asked) if asked and asked.isdecimal() else -1
    if code not in dimension.raters:
        raise InvalidInput(_("There is no such person in this round."), field="a")
    return code


def _named(dimension: Dimension, rows: list[tuple[int, int, Any, Any]]) -> list[dict[str, Any]]:
    """Rows of items with the dialogue they belong to, where they are ours. Two queries."""
    if dimension.items:
        return [{"name": dimension.items[item], "first": a, "second": b} for item, _group, a, b in rows]
    items = RoundItem.objects.select_related("dialogue").in_bulk([group for _item, group, _a, _b in rows])
    variants = Variant.objects.in_bulk([item for item, *_rest in rows]) if dimension.name == GRADE else {}
    return [
        {
            "item": items[group],
            "dialogue": items[group].dialogue,
            "variant": variants.get(item),
            "first": value_label(dimension.name, a),
            "second": value_label(dimension.name, b),
        }
        for item, group, a, b in rows
    ]


@require_POST
@curating
def round_machines(request: HttpRequest, uid: str) -> HttpResponse:
    """Say which raters of imported judgements are machines."""
    found = round_for(person(request), uid, may_do=can_curate)
    named = machine_raters_set(round=found, names=request.POST.getlist("machine"), actor=person(request))
    messages.success(request, _("%(n)d raters are machines now; they are kept apart from people.") % {"n": len(named)})
    return redirect("round_agreement", found.uid)
