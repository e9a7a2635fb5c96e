"""Writing down what is said in a recording that came without its words, or with wrong ones."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from eqstudio.errors import InvalidInput
from generation.media import clip_card
from generation.models import Dialogue
from generation.selectors import dialogue_detail, dialogue_for
from generation.services import transcript_correct
from generation.tasks import production_sweep_now
from generation.upload_form import WordsForm
from generation.views.guards import curating, person
from generation.words import STATE_LABELS


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def dialogue_words(request: HttpRequest, uid: str) -> HttpResponse:
    """Every recording of a dialogue from elsewhere beside its words; saved, the check runs again."""
    user = person(request)
    found = dialogue_for(user, uid)
    if found.is_made_here:
        messages.error(request, _("This dialogue was written here: its words are what was to be said."))
        return redirect("dialogue", uid)
    sent = {name: str(value) for name, value in request.POST.items()}
    form = WordsForm(request.POST or None, initial={"transcriber": found.brief.transcriber if found.brief else ""})
    if request.method == "POST" and form.is_valid():
        texts = {name[len("text-") :]: text for name, text in sent.items() if name.startswith("text-")}
        try:
            transcript_correct(dialogue=found, texts=texts, actor=user, **form.cleaned_data)
        except InvalidInput as error:
            form.add_error(None, error.message)
        else:
            production_sweep_now()
            messages.success(request, _("Saved. The dialogue now: %(state)s.") % {"state": STATE_LABELS[found.state]})
            return redirect("dialogue", uid)
    context = {"dialogue": found, "form": form, "rows": _rows(found, user.uid, sent)}
    return render(request, "generation/dialogue_words.html", context)


def _rows(dialogue: Dialogue, holder: str, sent: dict[str, str]) -> list[dict[str, Any]]:
    """Each rendition with its sound, what was heard in it, and its words: as they were sent, else as they are."""
    return [
        {
            "line": line.turn,
            "variant": each.variant,
            "heard": each.transcript,
            "text": sent.get(f"text-{each.variant.uid}", each.variant.text),
            "card": clip_card(clip=each.clip, holder=holder) if each.clip else None,
        }
        for line in dialogue_detail(dialogue=dialogue).turns
        for each in line.variants
    ]
