"""The items of a round, with how many judged each, how far they differ and what came of it."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.models import Kind, RoundItem
from annotation.selectors import round_for
from annotation.views.round_page import head
from generation.views.guards import curating, person
from generation.words import category_label

PER_PAGE = 50
SHOW = {
    "all": (gettext_lazy("All"), Q()),
    "open": (gettext_lazy("Open"), Q(closed_at=None)),
    "kept": (gettext_lazy("Kept"), Q(outcome=RoundItem.Outcome.KEPT)),
    "rejected": (gettext_lazy("Rejected"), Q(outcome=RoundItem.Outcome.REJECTED)),
    "disputed": (gettext_lazy("Disputed"), Q(outcome=RoundItem.Outcome.DISPUTED)),
}
ORDERS = {"": ("pk",), "least_agreed": ("-disagreement", "pk"), "fewest": ("given", "pk")}


@require_safe
@curating
def round_items(request: HttpRequest, uid: str) -> HttpResponse:
    """A page of items; which and in what order is in the address."""
    found = round_for(person(request), uid)
    show = request.GET.get("show", "all")
    show = show if show in SHOW else "all"
    order = request.GET.get("order", "")
    order = order if order in ORDERS else ""
    items = found.items.filter(SHOW[show][1], kind=Kind.WORK).select_related("dialogue").order_by(*ORDERS[order])
    page = Paginator(items, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        **head(request, found, "items"),
        "shows": [(name, label) for name, (label, _chosen) in SHOW.items()],
        "show": show,
        "order": order,
        "page_obj": page,
        "rows": [(item, category_label(item.dialogue.benchmark, item.dialogue.category)) for item in page],
    }
    return render(request, "annotation/round_items.html", context)
