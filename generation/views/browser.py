"""A corpus as a list: narrowed, ordered, and walked by keyboard."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from eqstudio.benchmarks import benchmarks
from generation.selectors import (
    Facets,
    Wanted,
    corpus_facets,
    corpus_for,
    dialogues_wanted,
    findings_named,
    lines_counted,
    wanted_read,
)
from generation.selectors.browsing import ORDERS, PARAMETERS, Lines
from generation.views.guards import curating, person
from generation.words import STATE_LABELS, benchmark_title, category_label

PER_PAGE = 50


@require_safe
@curating
def corpus(request: HttpRequest, uid: str) -> HttpResponse:
    """The dialogues of a corpus, by any combination of filters, in any of the orders."""
    found = corpus_for(person(request), uid)
    wanted = wanted_read(request.GET.dict())
    facets = corpus_facets(corpus=found)
    page = Paginator(dialogues_wanted(corpus=found, wanted=wanted), PER_PAGE).get_page(request.GET.get("page"))
    page.object_list = list(page.object_list)
    counted = lines_counted(dialogues=page.object_list)
    context = {
        "corpus": found,
        "facets": facets,
        "filters": _filters(facets, wanted),
        "wanted": wanted,
        "orders": orders(),
        "listed": address_of(request.GET),
        "rows": [(dialogue, counted.get(dialogue.pk, Lines(0, 0))) for dialogue in page.object_list],
        "page_obj": page,
    }
    return render(request, "generation/corpus.html", context)


def address_of(parameters: QueryDict) -> str:
    """What of an address makes the list, so that a dialogue's page knows which list it was opened from."""
    kept = QueryDict(mutable=True)
    for name in PARAMETERS:
        if parameters.get(name):
            kept[name] = str(parameters.get(name))
    return kept.urlencode()


def _filters(facets: Facets, wanted: Wanted) -> list[dict[str, Any]]:
    aliases = [wanted.facets["benchmark"]] if "benchmark" in wanted.facets else list(benchmarks)
    filters = [
        {
            "name": name,
            "label": label,
            "chosen": wanted.facets.get(name, ""),
            "options": [
                (value, f"{_value_label(name, value, aliases)} ({count})")
                for value, count in facets.values[name].items()
            ],
        }
        for name, label in (
            ("benchmark", _("Benchmark")),
            ("category", _("Category")),
            ("language", _("Language")),
            ("state", _("State")),
            ("source", _("Source")),
        )
    ]
    findings = [(name, name) for name in findings_named()]
    return [*filters, {"name": "finding", "label": _("Failed check"), "chosen": wanted.finding, "options": findings}]


def orders() -> list[tuple[str, str]]:
    """The orders of a list, in words."""
    labels = {
        "newest": _("newest first"),
        "oldest": _("oldest first"),
        "title": _("by title"),
        "category": _("by category"),
    }
    return [(order, labels[order]) for order in ORDERS]


def _value_label(name: str, value: str, aliases: list[str]) -> str:
    if name == "benchmark":
        return benchmark_title(value)
    if name == "state":
        return str(STATE_LABELS.get(value, value))
    if name == "category":
        labels = (category_label(alias, value) for alias in aliases)
        return next((label for label in labels if label != value), value)
    return value
