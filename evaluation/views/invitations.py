"""Links into a study, and the dialogues that people practise on and show attention with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.views.csv_files import csv_response
from eqstudio.errors import StudioError
from evaluation.forms_people import InvitationForm, SpecialsForm
from evaluation.models import Invitation, Part, SpecialItem, Study
from evaluation.selectors import protocol_of, study_to_curate_for
from evaluation.selectors.participants import invitation_in
from evaluation.services.invitations import invitation_revoke, invitation_token, invitations_create
from evaluation.services.specials import specials_offered, specials_set
from evaluation.services.specials_sound import left_to_audit
from generation.views.guards import curating, person


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@curating
def invitations(request: HttpRequest, uid: str) -> HttpResponse:
    """Every link with its use, and new ones."""
    study = study_to_curate_for(person(request), uid)
    form = InvitationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            invitations_create(study=study, actor=person(request), **form.wanted())
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            return redirect("invitations", study.uid)
    now = timezone.now()
    rows = [_row(request, one, now) for one in study.invitations.order_by("-pk")]
    context = {"study": study, "form": form, "rows": rows, "protocol": protocol_of(study)}
    return render(request, "evaluation/invitations.html", context, status=422 if form.errors else 200)


def _row(request: HttpRequest, one: Invitation, now: datetime) -> dict[str, Any]:
    return {"one": one, "link": link_of(request, one), "state": _state(one, now)}


def _state(one: Invitation, now: datetime) -> str:
    if one.revoked_at is not None:
        return _("taken back")
    if one.expires_at is not None and one.expires_at <= now:
        return _("expired")
    return _("used up") if one.uses >= one.max_uses else _("open")


def link_of(request: HttpRequest, one: Invitation) -> str:
    """The whole address; for a crowd platform with its names and, in its manner, a place for each value."""
    address = request.build_absolute_uri(reverse("sit_join", args=[invitation_token(one)]))
    names = [f"{theirs}={{{{%{theirs}%}}}}" for theirs in one.parameters.values()]
    return f"{address}?{'&'.join(names)}" if names else address


@require_safe
@never_cache
@curating
def invitations_csv(request: HttpRequest, uid: str) -> HttpResponse:
    study = study_to_curate_for(person(request), uid)
    now = timezone.now()
    people = {
        one.invitation_id: one for one in study.participants.filter(invitation__max_uses=1).select_related("invitation")
    }
    rows = (
        [
            one.label,
            link_of(request, one),
            _state(one, now),
            one.uses,
            one.max_uses,
            one.expires_at,
            people[one.pk].code if one.pk in people else "",
        ]
        for one in study.invitations.order_by("pk")
    )
    header = ["label", "link", "state", "used", "people", "expires", "code"]
    return csv_response(name=f"invitations-{study.name}.csv", header=header, rows=rows)


@require_POST
@curating
def invitation_off(request: HttpRequest, uid: str, invitation: str) -> HttpResponse:
    study = study_to_curate_for(person(request), uid)
    invitation_revoke(invitation=invitation_in(study, invitation), actor=person(request))
    return redirect("invitations", study.uid)


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def specials(request: HttpRequest, uid: str) -> HttpResponse:
    """Which dialogues people practise on, and which show that they listen."""
    study = study_to_curate_for(person(request), uid)
    chosen = {purpose: _codes(study, purpose) for purpose in (Part.PRACTICE, Part.ATTENTION)}
    initial = {purpose.value: "\n".join(codes) for purpose, codes in chosen.items()}
    form = SpecialsForm(request.POST or None, initial=initial)
    if study.locked_at is not None:
        for field in form.fields.values():
            field.widget.attrs["readonly"] = True
    if request.method == "POST" and form.is_valid():
        try:
            wanted = {purpose: form.cleaned_data[purpose.value].split() for purpose in chosen}
            specials_set(study=study, chosen=wanted, actor=person(request))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            return redirect("study_specials", study.uid)
    execution = protocol_of(study).execution
    context = {
        "study": study,
        "form": form,
        "wanted": [
            (Part.PRACTICE.label, execution.practice, len(chosen[Part.PRACTICE])),
            (Part.ATTENTION.label, execution.attention, len(chosen[Part.ATTENTION])),
        ],
        "unmeasured": 0 if study.locked_at else left_to_audit(study),
        "offered": [] if study.locked_at else specials_offered(study=study, purpose=Part.ATTENTION),
    }
    status = (409 if study.locked_at else 422) if form.errors else 200
    return render(request, "evaluation/specials.html", context, status=status)


def _codes(study: Study, purpose: Part) -> list[str]:
    rows = SpecialItem.objects.filter(study=study, purpose=purpose)
    return list(rows.values_list("dialogue__uid", flat=True))
