"""A person's own language; and StudioError as a page or a JSON answer with its status. Nothing else is caught but what a
sender can make too deep to be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import JsonResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from rest_framework.response import Response
from rest_framework.views import exception_handler

from eqstudio.access import is_guest
from eqstudio.errors import InvalidInput, NotFound, StudioError

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


class GuestMiddleware:
    """Whoever came by a link without an account sees the pages that welcome guests; every other one leads back there."""

    HOME = "guest_home"
    """Where in the session the way back stands."""
    LEAVING = "account_logout"

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        if not is_guest(request.user):
            return None
        name = request.resolver_match.url_name if request.resolver_match else None
        everybodys = not getattr(view, "login_required", True) and not hasattr(view, "cls")  # the API asks for itself
        if getattr(view, "guests_welcome", False) or everybodys or name == self.LEAVING:
            return None
        home = request.session.get(self.HOME)
        if home and request.method == "GET" and name == "home":
            return redirect(home)
        error = NotFound(_("There is no such page."))
        return render(request, "eqstudio/error.html", {"error": error}, status=error.status)


class StudioErrorMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, _view: Callable[..., HttpResponse], _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """NUL, which PostgreSQL cannot hold and SQLite finds nowhere, is in no address and in nothing one may look for."""
        if "\x00" in request.path:
            return self.process_exception(request, NotFound(_("There is no such page.")))
        if "%00" in request.META.get("QUERY_STRING", ""):
            return self.process_exception(
                request, InvalidInput(_("What was sent holds a character that cannot be read."))
            )
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, StudioError):
            return None
        if request.path.startswith("/api/") or "application/json" in request.headers.get("accept", ""):
            return JsonResponse({"error": exception.message, "field": exception.field}, status=exception.status)
        return render(request, "eqstudio/error.html", {"error": exception}, status=exception.status)


def api_exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's handler, plus StudioError with its own status; what is nested too deeply to be read is 400."""
    if isinstance(error, RecursionError):
        error = InvalidInput(_("What was sent is nested too deeply."))
    if isinstance(error, StudioError):
        return Response({"error": error.message, "field": error.field}, status=error.status)
    return exception_handler(error, context)
