"""The shortcut guard as a part of a page, fetched by it because it reads every clip."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from eqstudio.estimates import Estimate
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
    return _panel(request, Dialogue.objects.filter(corpus=corpus_for(person(request), uid)))


@require_safe
@curating
def batch_shortcuts(request: HttpRequest, uid: str) -> HttpResponse:
    """The guard over a batch."""
    return _panel(request, Dialogue.objects.filter(brief__batch=batch_for(person(request), uid)))


def _panel(request: HttpRequest, dialogues: QuerySet[Dialogue]) -> HttpResponse:
    guards = [
        {
            "found": found,
            "rules": [rule_row(rule.direction, rule.accuracy, warns=rule.warns) for rule in found.guard.rules],
        }
        for found in shortcuts_found(dialogues=dialogues)
        if found.guard.pairs
    ]
    return render(request, "generation/shortcuts.html", {"guards": guards})
