"""Parts that a page fetches by htmx, which somebody may open in a tab of their own."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def part_render(
    request: HttpRequest, part: str, context: dict[str, Any], *, title: str, back: str, back_name: str
) -> HttpResponse:
    """The template ``part`` as its page asks for it; opened by hand, in a page with the way ``back`` to where it stands."""
    if "HX-Request" in request.headers:
        return render(request, part, context)
    head = {"part": part, "title": title, "back": back, "back_name": back_name}
    return render(request, "eqstudio/part_alone.html", {**context, **head})
