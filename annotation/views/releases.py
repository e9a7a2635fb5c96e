"""A split is let go: gates and waivers, release, public page, withdrawal, and what changed between versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotation.forms_curation import PublicForm, ReasonForm, WaiverForm, WithdrawalForm
from annotation.models import Split
from annotation.selectors import public_split_for, split_for
from annotation.selectors.gates import latest_release
from annotation.selectors.rights import split_licences
from annotation.selectors.splits import latest_audits
from annotation.selectors.versions import split_difference
from annotation.services import gate_waive, split_publish, split_release, split_withdraw
from annotation.views.splits import value_label
from annotation.words_curation import CHECK_LABELS, GATE_LABELS, MEASURE_LABELS, SIDE_LABELS
from eqstudio.errors import InvalidInput, StudioError
from eqstudio.estimates import Estimate
from generation.views.guards import curating, person

SHOWN = 200
PUBLIC_COUNTS = {
    "category": gettext_lazy("Category"),
    "language": gettext_lazy("Language"),
    "source": gettext_lazy("Source"),
    "side": gettext_lazy("Side"),
}


def _back(request: HttpRequest, split: Split, action: Callable[[], Any], done: str) -> HttpResponse:
    """Do it and say so, or say why not, on the page of the split."""
    try:
        action()
    except StudioError as error:
        if error.status not in {400, 404, 409}:
            raise
        messages.error(request, error.message)
    else:
        messages.success(request, done)
    return redirect("split", split.uid)


def _filled(form: ReasonForm) -> None:
    """InvalidInput with what is wrong with the form, in one sentence."""
    if not form.is_valid():
        told = " ".join(f"{form.fields[name].label}: {errors[0]}" for name, errors in form.errors.items())
        raise InvalidInput(told, field=next(iter(form.errors)))


@require_POST
@curating
def split_waive(request: HttpRequest, uid: str) -> HttpResponse:
    """An admin lets a shut gate pass, in writing."""
    found = split_for(person(request), uid)
    form = WaiverForm(request.POST)

    def waive() -> None:
        _filled(form)
        gate_waive(
            split=found, gate=form.cleaned_data["gate"], reason=form.cleaned_data["reason"], actor=person(request)
        )

    return _back(request, found, waive, _("The gate is waived. Your reason stands beside it."))


@require_POST
@curating
def release_split(request: HttpRequest, uid: str) -> HttpResponse:
    """Release a split whose gates are open or waived."""
    found = split_for(person(request), uid)
    done = _("%(split)s is released.") % {"split": found}
    return _back(request, found, lambda: split_release(split=found, actor=person(request)), done)


@require_POST
@curating
def publish_split(request: HttpRequest, uid: str) -> HttpResponse:
    """Open or shut the page that anybody may read."""
    found = split_for(person(request), uid)
    form = PublicForm(request.POST)
    public = form.is_valid() and form.cleaned_data["public"]
    done = _("Anybody who knows its address may read its page now.") if public else _("Its public page is shut.")
    return _back(request, found, lambda: split_publish(split=found, public=public, actor=person(request)), done)


@require_POST
@curating
def withdraw_items(request: HttpRequest, uid: str) -> HttpResponse:
    """Make the next version without some items."""
    found = split_for(person(request), uid)
    form = WithdrawalForm(request.POST)
    made: list[Split] = []

    def withdraw() -> None:
        _filled(form)
        reason, actor = form.cleaned_data["reason"], person(request)
        made.append(split_withdraw(split=found, items=form.ids(), reason=reason, actor=actor, now=timezone.now()))

    answer = _back(request, found, withdraw, _("The items are withdrawn. This is the version without them."))
    return redirect("split", made[0].uid) if made else answer


@require_safe
@curating
def split_diff(request: HttpRequest, uid: str) -> HttpResponse:
    """What changed from another version (``from``) to this one; from the one before if none is named."""
    new = split_for(person(request), uid)
    if named := request.GET.get("from"):
        old: Split | None = split_for(person(request), named)
    else:
        old = Split.objects.filter(name=new.name, version__lt=new.version).order_by("-version").first()
    context: dict[str, Any] = {
        "split": new,
        "old": old,
        "versions": Split.objects.filter(name=new.name).exclude(pk=new.pk),
    }
    if old is not None:
        found = split_difference(old=old, new=new)
        parts = [
            (_("Added"), found.added),
            (_("Removed"), found.removed),
            (_("On another side"), found.moved),
            (_("Changed content"), found.changed),
            (_("Judged anew"), found.judged),
        ]
        context |= {"difference": found, "parts": [(label, len(rows), rows[:SHOWN]) for label, rows in parts]}
    return render(request, "annotation/split_diff.html", context)


@require_safe
@login_not_required
def split_public(request: HttpRequest, uid: str) -> HttpResponse:
    """What anybody may know of a released split: counts, agreement, audit, hash. No item is shown."""
    found = public_split_for(uid)
    audit, _others = latest_audits(split=found)
    release = latest_release(split=found)
    agreement = found.manifest.get("agreement") or {}
    context = {
        "split": found,
        "release": release,
        "benchmark_version": found.manifest.get("benchmark_version", ""),
        "licences": split_licences(split=found),
        "tables": [(label, _counted(found, name)) for name, label in PUBLIC_COUNTS.items()],
        "agreement": Estimate(**agreement["estimate"]) if "estimate" in agreement else None,
        "agreement_label": MEASURE_LABELS.get(agreement.get("measure", ""), ""),
        "audit": audit,
        "checks": [
            (CHECK_LABELS[check["kind"]], check["found"]) for check in (audit.report.get("checks", []) if audit else [])
        ],
        "gates": [(GATE_LABELS.get(gate["gate"], gate["gate"]), gate) for gate in (release.gates if release else [])],
    }
    return render(request, "annotation/split_public.html", context)


def _counted(split: Split, name: str) -> list[tuple[Any, int]]:
    column = "side" if name == "side" else f"dialogue__{name}"
    rows = split.items.order_by(column).values_list(column).annotate(count=Count("pk"))
    if name == "side":
        return [(SIDE_LABELS.get(value, value), count) for value, count in rows]
    return [(value_label(name, value, split.benchmark), count) for value, count in rows]
