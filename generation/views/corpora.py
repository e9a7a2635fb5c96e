"""Corpora, what is in one, and one dialogue whole."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from eqstudio.errors import StudioError
from generation.domain.lifecycle import DialogueState
from generation.forms import CorpusForm, FlaggedForm
from generation.media import ClipCard, clip_card
from generation.models import Clip, Dialogue, Rendition
from generation.selectors import (
    corpora_listed,
    dialogue_detail,
    dialogue_for,
    dialogue_neighbours,
    wanted_read,
)
from generation.services import corpus_create, dialogue_settle, dialogue_settled_as
from generation.views.browser import address_of
from generation.views.guards import curating, person
from generation.words import STATE_LABELS

PER_PAGE = 50


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def corpora(request: HttpRequest) -> HttpResponse:
    """All corpora, and a form for an empty one."""
    form = CorpusForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = corpus_create(**form.cleaned_data, actor=person(request))
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("The corpus is there. Ask for dialogues, or import some."))
            return redirect("corpus", made.uid)
    page = Paginator(corpora_listed(), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "generation/corpora.html", {"page_obj": page, "form": form})


@require_safe
@curating
def dialogue(request: HttpRequest, uid: str) -> HttpResponse:
    """Every line and rendition with its sound, measures, findings and where it came from. Shows the key: not for annotators."""
    found = dialogue_for(person(request), uid)
    form = None
    if found.state == DialogueState.FLAGGED:
        form = FlaggedForm(possible=dialogue_settled_as(dialogue=found))
    return _dialogue_page(request, found, form)


def _dialogue_page(request: HttpRequest, found: Dialogue, form: FlaggedForm | None) -> HttpResponse:
    user = person(request)
    detail = dialogue_detail(dialogue=found)
    rows = [
        (
            line.turn,
            [(each, *_cards(each.clip, user.uid)) for each in line.variants],
        )
        for line in detail.turns
    ]
    facts = [
        (name, value) for name, value in found.scenario.items() if isinstance(value, str | int | float) and value != ""
    ]
    context = {"dialogue": found, "detail": detail, "rows": rows, "facts": facts, "gone": detail.lines_without_sound()}
    wanted = wanted_read(request.GET.dict())
    context |= {"wanted": wanted, "beside": dialogue_neighbours(dialogue=found, wanted=wanted)}
    context["listed"] = address_of(request.GET)
    context["may_word"] = not found.is_made_here and found.state in (DialogueState.READY, DialogueState.FLAGGED)
    context["takes"] = [(take, clip_card(clip=take.clip, holder=user.uid, original=True)) for take in detail.takes]
    context["form"] = form
    return render(request, "generation/dialogue.html", context)


def _cards(clip: Clip | None, holder: str) -> tuple[ClipCard | None, ClipCard | None]:
    """The clip as people hear it, and as it was made where that differs."""
    if clip is None:
        return None, None
    matched = any(copy.kind == Rendition.Kind.MATCHED for copy in clip.renditions.all())
    original = clip_card(clip=clip, holder=holder, original=True) if matched else None
    return clip_card(clip=clip, holder=holder), original


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def dialogue_decide(request: HttpRequest, uid: str) -> HttpResponse:
    """What a researcher says about a flagged dialogue: good enough, no good, to be spoken again, to be written again."""
    found = dialogue_for(person(request), uid)
    if request.method != "POST":
        return redirect("dialogue", uid)
    if found.state != DialogueState.FLAGGED:
        messages.error(
            request,
            _("Nothing was changed: the dialogue is no longer flagged. It is now: %(state)s.")
            % {"state": STATE_LABELS[found.state]},
        )
        return redirect("dialogue", uid)
    form = FlaggedForm(request.POST, possible=dialogue_settled_as(dialogue=found))
    if form.is_valid():
        try:
            dialogue_settle(dialogue=found, actor=person(request), **form.cleaned_data)
        except StudioError as error:
            form.add_error("to" if error.field == "to" else None, error.message)
        else:
            messages.success(request, _("Done. The dialogue is now: %(state)s.") % {"state": STATE_LABELS[found.state]})
            return redirect("dialogue", uid)
    return _dialogue_page(request, found, form)
