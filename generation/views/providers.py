"""Who writes, speaks and listens here, and whether they work."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from eqstudio.errors import NotFound, UnknownAlias
from generation.services.provider_checks import KINDS, provider_check
from generation.views.guards import curating
from generation.words import PROVIDER_LINES

KIND_LABELS = {"text": _("Write scripts"), "voice": _("Speak lines"), "transcriber": _("Listen and write down")}


@require_safe
@curating
def providers(request: HttpRequest) -> HttpResponse:
    groups = [
        (KIND_LABELS[kind], [{"kind": kind, "alias": alias, "line": PROVIDER_LINES[kind, alias]} for alias in registry])
        for kind, registry in KINDS.items()
    ]
    return render(request, "generation/providers.html", {"groups": groups})


@require_POST
@curating
def provider_ask(request: HttpRequest, kind: str, alias: str) -> HttpResponse:
    """Check one provider now; htmx puts the answer into its row, without scripts it is a page."""
    try:
        state = provider_check(kind=kind, alias=alias)
    except UnknownAlias as error:
        raise NotFound(error.message) from error
    part = "generation/provider_state.html" if getattr(request, "htmx", False) else "generation/provider_checked.html"
    return render(request, part, {"state": state})
