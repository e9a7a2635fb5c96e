"""One's own work: how much, how it stands, what a round tells of how one does, and why one is paused."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.quality_words import place_words, state_chip
from annotation.selectors import my_work as selectors
from eqstudio.access import can_annotate, role_require
from generation.views.guards import person


@require_safe
@role_require(can_annotate)
def my_work(request: HttpRequest) -> HttpResponse:
    """Today, this week, all; then round by round."""
    found = selectors.my_work(annotator=person(request), now=timezone.now())
    rounds = [(row, place_words(row.place), state_chip(row.place.state)) for row in found.rounds]
    return render(request, "annotation/my_work.html", {"work": found, "rounds": rounds})
