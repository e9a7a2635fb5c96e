"""Flags are decided and judgements get their standing."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.forms.quality import FlagForm, StandingForm
from annotation.models import Flag, Judgement
from annotation.selectors.access import belongs_here
from annotation.services.flags import flag_decide, standing_set
from eqstudio.access import can_curate, object_for
from eqstudio.errors import InvalidInput
from generation.views.guards import curating, person


@require_POST
@curating
def flag_decision(request: HttpRequest, uid: str) -> HttpResponse:
    """Uphold or dismiss."""
    flags = Flag.objects.select_related("round", "annotator")
    flag = object_for(person(request), flags, may_know=belongs_here, may_do=can_curate, uid=uid)
    form = FlagForm(request.POST)
    if not form.is_valid():
        raise InvalidInput(_("Choose uphold or dismiss and say why. Nothing was decided."), field="decision")
    data = form.cleaned_data
    flag_decide(
        flag=flag,
        uphold=data["decision"] == "uphold",
        reason=data["reason"],
        actor=person(request),
        now=timezone.now(),
        accepted=not data["unaccepted"],
        usable=not data["unusable"],
    )
    messages.success(request, _("Decided. Your reason is kept with the flag."))
    return redirect("round_person", flag.round.uid, flag.annotator.uid)


@require_POST
@curating
def judgement_standing(request: HttpRequest, uid: str) -> HttpResponse:
    """Accepted or not, usable or not."""
    judgements = Judgement.objects.select_related("item__round", "annotator", "assignment")
    judgement = object_for(person(request), judgements, may_know=belongs_here, may_do=can_curate, uid=uid)
    form = StandingForm(request.POST)
    if not form.is_valid():
        raise InvalidInput(_("Say why: the reason is kept with the judgement."), field="reason")
    standing_set(judgement=judgement, actor=person(request), now=timezone.now(), **form.cleaned_data)
    messages.success(request, _("Kept. The judgement itself stays as it is."))
    return redirect("round_person", judgement.item.round.uid, judgement.annotator.uid)
