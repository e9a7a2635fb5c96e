"""Health for machines (``/healthz``, open to all, no detail) and for admins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib.auth.decorators import login_not_required
from django.http import JsonResponse
from django.shortcuts import render
from django.utils import timezone, translation
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from eqstudio.access import can_administer, role_require
from eqstudio.health import health_probe
from eqstudio.home import kept_counts

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
    from django_htmx.middleware import HtmxDetails

    class HtmxHttpRequest(HttpRequest):
        htmx: HtmxDetails


@require_safe
@never_cache
@login_not_required
def healthz(_request: HttpRequest) -> HttpResponse:
    """200 when every part works, else 503; one word for each part."""
    with translation.override("en"):
        probes = health_probe(now=timezone.now())
    ok = all(probe.ok for probe in probes)
    body = {"ok": ok, **{probe.name: "ok" if probe.ok else "failing" for probe in probes}}
    return JsonResponse(body, status=200 if ok else 503)


@require_safe
@role_require(can_administer)
def health(request: HtmxHttpRequest) -> HttpResponse:
    probes = health_probe(now=timezone.now())
    template = "eqstudio/parts/health_words.html" if request.htmx else "eqstudio/health.html"
    return render(request, template, {"probes": probes, "ok": all(probe.ok for probe in probes)})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@role_require(can_administer)
def health_counts(request: HttpRequest) -> HttpResponse:
    """Hold every kept count against the rows it stands for; a POST sets right what is wrong. Fetched by the health page,
    because it reads more than a probe may.
    """
    mend = request.method == "POST"
    found = [count for source in kept_counts for count in source(mend=mend)]
    context = {
        "wrong": [count for count in found if count.wrong],
        "mended": sum(count.mended for count in found),
        "mend": mend,
    }
    return render(request, "eqstudio/parts/health_counts.html", context)
