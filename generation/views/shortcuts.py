"""The shortcut guard as a part of a page, fetched by it because it reads every clip."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from eqstudio.estimates import Estimate
from eqstudio.views.parts import part_render
from generation.models import Dialogue
from generation.selectors import batch_for, corpus_for, shortcuts_found
from generation.views.guards import curating, person
from generation.words import RULE_LABELS


class RuleRow(NamedTuple):
    """One rule as a table shows it."""

    label: Any
    estimate: Estimate
    warns: bool


def rule_row(direction: str, estimate: Estimate, *, warns: bool) -> RuleRow:
    return RuleRow(RULE_LABELS.get(direction, direction), estimate, warns)


@require_safe
@curating
def corpus_shortcuts(request: HttpRequest, uid: str) -> HttpResponse:
    """The guard over a corpus."""
    corpus = corpus_for(person(request), uid)
    return _panel(request, Dialogue.objects.filter(corpus=corpus), page=reverse("corpus", args=[uid]), name=str(corpus))


@require_safe
@curating
def batch_shortcuts(request: HttpRequest, uid: str) -> HttpResponse:
    """The guard over a batch."""
    batch = batch_for(person(request), uid)
    found = Dialogue.objects.filter(brief__batch=batch)
    return _panel(
        request, found, page=reverse("batch", args=[uid]), name=_("Batch for %(corpus)s") % {"corpus": batch.corpus}
    )


def _panel(request: HttpRequest, dialogues: QuerySet[Dialogue], *, page: str, name: str) -> HttpResponse:
    """The part as the page asks for it; opened in a tab of its own, with the way back to that page."""
    guards = [
        {
            "found": found,
            "rules": [rule_row(rule.direction, rule.accuracy, warns=rule.warns) for rule in found.guard.rules],
        }
        for found in shortcuts_found(dialogues=dialogues)
        if found.guard.pairs
    ]
    title = _("Does a meter find the key?")
    part = "generation/shortcuts.html"
    return part_render(request, part, {"guards": guards}, title=title, back=page, back_name=name)
