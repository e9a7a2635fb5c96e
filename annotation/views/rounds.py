"""Rounds are listed, made and filled here."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.forms import RoundForm, RoundStateForm
from annotation.models import Chore, Round
from annotation.selectors import round_for, rounds_with_progress
from annotation.selectors.fitting import dialogues_fitting, voices_of
from annotation.services import round_create, round_set_state, round_top_up_ask
from annotation.tasks import chore_task
from eqstudio.access import can_curate
from eqstudio.errors import InvalidInput, StudioError
from generation.models import Dialogue
from generation.views.guards import curating, person
from generation.words import category_label

ROUNDS_PER_PAGE = 20
VOICES_SHOWN = 30
COUNTED = [name for name in RoundForm.groups[0][1] if name != "name"]
"""The fields that choose dialogues: all that the count is sent, since guidelines are too long for an address."""


@require_safe
@curating
def rounds(request: HttpRequest) -> HttpResponse:
    """All rounds with coverage and the headline figure of agreement on grades."""
    found = rounds_with_progress(Round.objects.select_related("corpus")).order_by("-created", "-pk")
    page = Paginator(found, ROUNDS_PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "annotation/rounds.html", {"page_obj": page})


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def round_new(request: HttpRequest) -> HttpResponse:
    """Open a round over a corpus and fill it with what is ready."""
    form = RoundForm(request.POST or None, initial={"corpus": request.GET.get("corpus")})
    if request.method == "POST" and form.is_valid():
        try:
            made = round_create(**form.arguments(), actor=person(request))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            _fill(request, made)
            return redirect("round", made.uid)
    context = {
        "form": form,
        "counted": COUNTED,
        **_counts(RoundForm(request.POST or {"corpus": request.GET.get("corpus", "")})),
    }
    return render(request, "annotation/round_new.html", context, status=422 if form.errors else 200)


@require_safe
@curating
def round_counts(request: HttpRequest) -> HttpResponse:
    """How many dialogues the form as it stands would take, for the page to show while it is filled in."""
    return render(request, "annotation/round_counts.html", _counts(RoundForm(request.GET)))


def _counts(form: RoundForm) -> dict[str, Any]:
    """What the fields that choose dialogues would take; nothing while the corpus or one of them is wrong."""
    form.is_valid()
    corpus = form.cleaned_data.get("corpus")
    wrong = set(form.errors) & set(RoundForm.groups[0][1]) - {"name"}
    if corpus is None or wrong:
        return {"fitting": None}
    query = form.query()
    found = dialogues_fitting(
        corpus=corpus,
        benchmark=form.cleaned_data.get("benchmark", ""),
        language=form.cleaned_data.get("language", ""),
        query=query,
    )
    groups = Dialogue.objects.filter(pk__in=found.order_by().values("pk")).order_by("benchmark", "category")
    rows: dict[tuple[str, str], int] = {}
    for key in groups.values_list("benchmark", "category"):
        rows[key] = rows.get(key, 0) + 1
    fitting = sum(rows.values())
    return {
        "fitting": fitting,
        "taken": min(fitting, query.limit or fitting),
        "categories": [(category_label(*key), number) for key, number in rows.items()],
        "voices": voices_of(corpus=corpus)[:VOICES_SHOWN],
    }


def _fill(request: HttpRequest, round_: Round) -> None:
    added = round_top_up_ask(round=round_, actor=person(request))
    if isinstance(added, Chore):
        chores_hand_out(request, round_)
    elif added:
        told = ngettext("%(added)d item went into the round.", "%(added)d items went into the round.", added)
        messages.success(request, told % {"added": added})
    else:
        messages.warning(request, _("Nothing was added: no dialogue of this corpus is ready and waiting for review."))


@require_POST
@curating
def round_fill(request: HttpRequest, uid: str) -> HttpResponse:
    """Take what has become ready since."""
    found = round_for(person(request), uid, may_do=can_curate)
    _fill(request, found)
    return redirect("round", found.uid)


@require_POST
@curating
def round_state(request: HttpRequest, uid: str) -> HttpResponse:
    """Open, pause (people read why) or close."""
    found = round_for(person(request), uid, may_do=can_curate)
    form = RoundStateForm(request.POST)
    if not form.is_valid():
        raise InvalidInput(_("A round can be open, paused or closed."), field="state")
    given = form.cleaned_data
    round_set_state(round=found, state=given["state"], actor=person(request), reason=given["reason"])
    messages.success(request, _("The round is %(state)s now.") % {"state": found.get_state_display()})
    chores_hand_out(request, found)
    return redirect("round", found.uid)


def chores_hand_out(request: HttpRequest, round_: Round) -> None:
    """Hand what was asked for of very many items to a worker, and say so."""
    waiting = list(round_.chores.filter(state=Chore.State.WAITING))
    for chore in waiting:
        transaction.on_commit(partial(chore_task.delay, chore.pk), robust=True)
    if waiting:
        told = _(
            "This is about %(total)s items, so it goes on in the background. The top of every page shows how far it is."
        )
        messages.info(request, told % {"total": f"{max(chore.total for chore in waiting):,}"})
