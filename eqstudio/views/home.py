"""The home page, the strip of what runs now, and search: composed of what the apps registered."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from eqstudio.access import can_curate, role_require
from eqstudio.home import panels_for, running_jobs, search_sources

if TYPE_CHECKING:
    from django.http import HttpRequest

    from eqstudio.models import User

SEARCH_LIMIT = 50
STOP_POLLING = 286
"""htmx stops asking when it gets this status."""


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    panels = panels_for(cast("User", request.user), timezone.now())
    context = {
        "panels": [panel for panel in panels if not panel.aside],
        "asides": [panel for panel in panels if panel.aside],
    }
    return render(request, "eqstudio/home.html", context)


@require_safe
@login_not_required
def running(request: HttpRequest) -> HttpResponse:
    """The strip's content. Whoever is signed out meanwhile gets an empty one and is asked no more."""
    if not can_curate(request.user):
        return HttpResponse(status=STOP_POLLING)
    now = timezone.now()
    return render(
        request, "eqstudio/parts/running.html", {"jobs": [job for source in running_jobs for job in source(now)]}
    )


@require_safe
@role_require(can_curate)
def search(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").strip()
    hits = [hit for source in search_sources for hit in source(query, SEARCH_LIMIT)] if query else []
    return render(request, "eqstudio/search.html", {"search_query": query, "hits": hits, "limit": SEARCH_LIMIT})
