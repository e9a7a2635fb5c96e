"""One round whole: how far it is, how far people agree, and what is in dispute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from annotation.models import Assignment, Round, RoundItem
from annotation.selectors import disputed_items, round_for, round_people, round_progress
from annotation.selectors.agreement import GRADE, VERDICT, Dimension, agreement_groups, round_dimensions
from eqstudio.access import can_annotate
from eqstudio.estimates import Estimate
from generation.views.guards import curating, person
from generation.words import category_label

PER_PAGE = 50
DISPUTES_SHOWN = 10
HEADLINES = {GRADE: "alpha_ordinal", VERDICT: "alpha_nominal"}
SHOWN = {
    GRADE: ("alpha_ordinal", "percent_agreement", "ac2", "qwk"),
    VERDICT: ("alpha_nominal", "percent_agreement", "ac1"),
}
SHOWN_ELSEWHERE = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "percent_agreement", "ac1")
COEFFICIENTS = {
    "alpha_nominal": gettext_lazy("Krippendorff's alpha, nominal"),
    "alpha_ordinal": gettext_lazy("Krippendorff's alpha, ordinal"),
    "alpha_interval": gettext_lazy("Krippendorff's alpha, interval"),
    "percent_agreement": gettext_lazy("agreement, uncorrected"),
    "ac1": gettext_lazy("Gwet's AC1"),
    "ac2": gettext_lazy("Gwet's AC2, quadratic"),
    "qwk": gettext_lazy("weighted kappa, mean over pairs"),
}
QUESTIONS = {GRADE: gettext_lazy("grades 1 to 4"), VERDICT: gettext_lazy("keep or reject")}
SHOW = {
    "all": (gettext_lazy("All"), Q()),
    "open": (gettext_lazy("Open"), Q(closed_at=None)),
    "kept": (gettext_lazy("Kept"), Q(outcome=RoundItem.Outcome.KEPT)),
    "rejected": (gettext_lazy("Rejected"), Q(outcome=RoundItem.Outcome.REJECTED)),
    "disputed": (gettext_lazy("Disputed"), Q(outcome=RoundItem.Outcome.DISPUTED)),
}


@require_safe
@curating
def round_figure(request: HttpRequest, uid: str) -> HttpResponse:
    """The headline figure of one round, fetched by the list when it is shown."""
    dimensions = round_dimensions(round=round_for(person(request), uid))
    chosen = next((found for found in dimensions if found.name in HEADLINES), None)
    figure = Estimate.undefined(_("nobody has judged yet")) if chosen is None else _headline(chosen)
    return render(request, "annotation/round_figure.html", {"figure": figure})


def _headline(dimension: Dimension) -> Estimate:
    name = HEADLINES[dimension.name]
    (group,) = agreement_groups([dimension], names=[name])
    return Estimate(**group["estimates"][name])


@require_safe
@curating
def round_page(request: HttpRequest, uid: str) -> HttpResponse:
    """One round whole: progress, agreement with its intervals, disputes, items, people."""
    found = round_for(person(request), uid)
    show = request.GET.get("show", "all")
    show = show if show in SHOW else "all"
    page = Paginator(_items(found, show), PER_PAGE).get_page(request.GET.get("page"))
    dimensions = round_dimensions(round=found)
    disputes = disputed_items(round=found)
    context = {
        "round": found,
        "progress": round_progress(round=found),
        "people": round_people(round=found),
        "agreement": _figures(dimensions),
        "parts": [
            (_("By category"), _parts(dimensions, "category")),
            (_("By language"), _parts(dimensions, "language")),
        ],
        "disputes": disputes[:DISPUTES_SHOWN],
        "disputes_count": disputes.count(),
        "tabs": [(name, label) for name, (label, _chosen) in SHOW.items()],
        "show": show,
        "page_obj": page,
        "rows": [(item, category_label(item.dialogue.benchmark, item.dialogue.category)) for item in page],
        "may_judge": can_annotate(request.user),
    }
    return render(request, "annotation/round.html", context)


def _items(round_: Round, show: str) -> QuerySet[RoundItem]:
    counted = Count("assignments", filter=Q(assignments__state=Assignment.State.SUBMITTED))
    items = round_.items.filter(SHOW[show][1]).select_related("dialogue")
    return items.annotate(counted=counted).order_by("pk")


def _figures(dimensions: Sequence[Dimension]) -> list[dict[str, Any]]:
    """One row per question and coefficient."""
    rows = []
    for dimension in dimensions:
        names = SHOWN.get(dimension.name, SHOWN_ELSEWHERE)
        (group,) = agreement_groups([dimension], names=names)
        rows += [
            {
                "question": QUESTIONS.get(dimension.name, dimension.name),
                "coefficient": COEFFICIENTS[name],
                "estimate": Estimate(**group["estimates"][name]),
                "raters": group["raters"],
            }
            for name in names
        ]
    return rows


def _parts(dimensions: Sequence[Dimension], by: str) -> list[dict[str, Any]]:
    """One row per question and group, with the headline coefficient."""
    rows = []
    for dimension in dimensions:
        name = HEADLINES.get(dimension.name, "alpha_interval")
        rows += [
            {
                "question": QUESTIONS.get(dimension.name, dimension.name),
                "group": _group_label(by, group["by"], dimension),
                "coefficient": COEFFICIENTS[name],
                "estimate": Estimate(**group["estimates"][name]),
                "items": group["items"],
            }
            for group in agreement_groups([dimension], by=by, names=[name])
        ]
    return rows


def _group_label(by: str, label: str, dimension: Dimension) -> str:
    if by == "category":
        return category_label(dimension.benchmarks.get(label, ""), label)
    return {"en": _("English"), "zh": _("Chinese")}.get(label, label)
