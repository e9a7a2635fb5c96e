"""A corpus as a list: narrowed, ordered, and walked by keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from eqstudio.benchmarks import benchmarks
from eqstudio.errors import StudioError
from generation.domain.lifecycle import DialogueState
from generation.forms import FlaggedForm
from generation.models import Corpus
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
from generation.services import AS_IT_IS, dialogues_settle
from generation.views.guards import curating, person
from generation.words import STATE_LABELS, benchmark_title, category_label

PER_PAGE = 50


@require_safe
@curating
def corpus(request: HttpRequest, uid: str) -> HttpResponse:
    """The dialogues of a corpus, by any combination of filters, in any of the orders."""
    return _corpus_page(request, corpus_for(person(request), uid), FlaggedForm(possible=AS_IT_IS))


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def corpus_decide(request: HttpRequest, uid: str) -> HttpResponse:
    """One decision, with one reason, on the flagged dialogues that were ticked. Asked for without one, it is the list."""
    found = corpus_for(person(request), uid)
    listed = f"{reverse('corpus', args=[uid])}?{request.GET.urlencode()}".rstrip("?")
    if request.method != "POST":
        return redirect(listed)
    form = FlaggedForm(request.POST, possible=AS_IT_IS)
    chosen = request.POST.getlist("dialogue")
    if form.is_valid():
        try:
            moved = dialogues_settle(corpus=found, uids=chosen, actor=person(request), **form.cleaned_data)
        except StudioError as error:
            form.add_error("to" if error.field == "to" else None, error.message)
        else:
            _tell(request, moved, len(set(chosen)) - moved, form.cleaned_data["to"])
            return redirect(listed)
    return _corpus_page(request, found, form, chosen)


def _tell(request: HttpRequest, moved: int, left: int, to: str) -> None:
    said = ngettext("%(count)d dialogue is now: %(state)s.", "%(count)d dialogues are now: %(state)s.", moved)
    messages.success(request, said % {"count": moved, "state": STATE_LABELS[to]})
    if left:
        said = ngettext(
            "%(count)d was no longer flagged and was left as it is.",
            "%(count)d were no longer flagged and were left as they are.",
            left,
        )
        messages.warning(request, said % {"count": left})


def _corpus_page(request: HttpRequest, found: Corpus, form: FlaggedForm, chosen: Sequence[str] = ()) -> HttpResponse:
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
        "form": form,
        "chosen": chosen,
        "undecided": sum(dialogue.state == DialogueState.FLAGGED for dialogue in page.object_list),
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
