"""What a person decides for themselves: language and name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_supported_language_variant
from django.views.decorators.http import require_POST

from eqstudio.errors import InvalidInput

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@require_POST
@login_not_required
def language(request: HttpRequest) -> HttpResponse:
    """Switch the language of the pages: in a cookie, and for whoever is signed in in their account too."""
    chosen = request.POST.get("language", "")
    try:
        code = get_supported_language_variant(chosen)
    except LookupError as error:
        known = ", ".join(code for code, _name in settings.LANGUAGES)
        raise InvalidInput(f"Unknown language {chosen!r}. Known: {known}.", field="language") from error
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        target = reverse("home")
    response = HttpResponseRedirect(target)
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        code,
        max_age=365 * 24 * 3600,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    if request.user.is_authenticated and request.user.language != code:
        request.user.language = code
        request.user.save(update_fields=["language"])
    return response


def me(request: HttpRequest) -> HttpResponse:
    return render(request, "eqstudio/me.html")
