"""Audits of a split: asked for, followed while they run, and read as a report that can be printed."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.forms_curation import AuditForm
from annotation.models import Split, SplitAudit
from annotation.selectors import audit_for, split_for
from annotation.services import audit_request, audit_stop
from annotation.services.audits import UNDER_WAY
from annotation.tasks import audit_run
from annotation.words_curation import CHECK_LABELS, KIND_LABELS, MEASURE_LABELS
from eqstudio.errors import InvalidInput
from eqstudio.estimates import Estimate
from generation.models import Dialogue
from generation.views.guards import curating, person
from generation.views.shortcuts import rule_row

SHOWN = 12
WORST_SHOWN = 200


def audit_context(split: Split) -> dict[str, Any]:
    """The audits of a split, newest first, and whether one is still being made."""
    found = list(split.audits.select_related("against", "created_by").defer("report")[:SHOWN])
    waiting = any(audit.state in UNDER_WAY for audit in found)
    now = timezone.now()
    rows = [(audit, audit.seconds_left(now)) for audit in found]
    return {"split": split, "audits": rows, "auditing": waiting, "parts": len(SplitAudit.Part.values)}


@require_safe
@curating
def split_audit_part(request: HttpRequest, uid: str) -> HttpResponse:
    """The list of audits, fetched again while one is being made."""
    return render(request, "annotation/split_audits.html", audit_context(split_for(person(request), uid)))


@require_POST
@curating
def split_audit_new(request: HttpRequest, uid: str) -> HttpResponse:
    """Ask for an audit; the worker makes it."""
    found = split_for(person(request), uid)
    form = AuditForm(request.POST, split=found)
    if not form.is_valid():
        raise InvalidInput(_("There is no such split to hold it against."), field="against")
    with transaction.atomic():
        audit = audit_request(split=found, against=form.other(), actor=person(request))
        transaction.on_commit(partial(audit_run.delay, audit.pk), robust=True)
    messages.success(request, _("The audit is being made. Its report stands here as soon as it is whole."))
    return redirect("split", found.uid)


@require_POST
@curating
def audit_end(request: HttpRequest, uid: str) -> HttpResponse:
    """Stop an audit; it has no report then."""
    audit = audit_stop(audit=audit_for(person(request), uid), actor=person(request))
    messages.success(request, _("The audit is stopped. The recordings that it measured need not be measured again."))
    return redirect("split", audit.split.uid)


@require_safe
@curating
def audit_page(request: HttpRequest, uid: str) -> HttpResponse:
    """One report, to read and to print."""
    audit = audit_for(person(request), uid)
    report = audit.report
    context: dict[str, Any] = {"audit": audit, "split": audit.split, "report": report}
    if report:
        context |= _report(report)
    return render(request, "annotation/audit.html", context)


def _report(report: dict[str, Any]) -> dict[str, Any]:
    worst = list(report["worst"].items())[:WORST_SHOWN]
    agreement = report["agreement"]
    return {
        "alone": [row for row in _checks(report) if " in " not in row["name"]],
        "across": [row for row in _checks(report) if " in " in row["name"]],
        "shortcuts": [
            rule_row(row["cue"], Estimate(**row["accuracy"]), warns=row["warns"]) for row in report["shortcuts"]
        ],
        "text_only": Estimate(**report["text_only"]["accuracy"]),
        "agreement_label": MEASURE_LABELS.get(agreement["measure"], agreement["measure"]),
        "agreement": Estimate(**agreement["estimate"]),
        "ceilings": [
            (label, Estimate(**report["ceiling"][name]))
            for name, label in (("grade", _("Ceiling of grades")), ("verdict", _("Ceiling of verdicts")))
        ],
        "clusters": report["clusters"],
        "worst": _worst(worst),
        "marked": [(KIND_LABELS[kind], count) for kind, count in report["marked"].items()],
    }


def _checks(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**check, "label": CHECK_LABELS[check["kind"]]} for check in report["checks"]]


def _worst(found: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    titles = dict(Dialogue.objects.filter(uid__in=[item for item, _edge in found]).values_list("uid", "title"))
    return [
        {
            **edge,
            "item": item,
            "other": edge["there"] if edge["here"] == item else edge["here"],
            "title": titles.get(item, ""),
            "label": KIND_LABELS[edge["kind"]],
        }
        for item, edge in found
    ]
