"""A person's own language; and StudioError as a page or a JSON answer with its status, nothing else is caught."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import JsonResponse
from django.shortcuts import render
from django.utils import translation
from rest_framework.response import Response
from rest_framework.views import exception_handler

from eqstudio.errors import StudioError

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse


class PersonLanguageMiddleware:
    """Whoever is signed in reads pages in the language of their account; before that, cookie and browser decide."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            translation.activate(request.user.language)
            request.LANGUAGE_CODE = translation.get_language() or request.user.language
        return self.get_response(request)


class StudioErrorMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, StudioError):
            return None
        if "application/json" in request.headers.get("accept", ""):
            return JsonResponse({"error": exception.message, "field": exception.field}, status=exception.status)
        return render(request, "eqstudio/error.html", {"error": exception}, status=exception.status)


def api_exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's handler, plus StudioError with its own status."""
    if isinstance(error, StudioError):
        return Response({"error": error.message, "field": error.field}, status=error.status)
    return exception_handler(error, context)
