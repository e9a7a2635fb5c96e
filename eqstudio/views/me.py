"""What a person decides for themselves: language and name."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_supported_language_variant
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from rest_framework.authtoken.models import Token

from eqstudio.errors import InvalidInput
from eqstudio.people_forms import MeForm
from eqstudio.services import person_update, token_remove, token_renew

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from eqstudio.models import User


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
    return _speaking(HttpResponseRedirect(target), code)


def _speaking(response: HttpResponse, code: str) -> HttpResponse:
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        code,
        max_age=365 * 24 * 3600,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    return response


@require_http_methods(["GET", "POST"])
def me(request: HttpRequest) -> HttpResponse:
    person = cast("User", request.user)
    known = {"name": person.display_name, "language": person.language, "speaks": person.speaks}
    form = MeForm(request.POST or None, initial=known)
    if request.method == "POST" and form.is_valid():
        person_update(person=person, actor=person, **form.cleaned_data)
        messages.success(request, _("Your settings are saved."))
        return _speaking(redirect("me"), person.language)
    context = {
        "form": form,
        "has_token": Token.objects.filter(user=person).exists(),
        "two_step": is_mfa_enabled(person),
    }
    return render(request, "eqstudio/me.html", context, status=422 if form.errors else 200)


@require_POST
@never_cache
def token(request: HttpRequest) -> HttpResponse:
    """Make a new API token and show it this once, or end the one there is."""
    person = cast("User", request.user)
    if request.POST.get("action") == "end":
        token_remove(person=person)
        messages.success(request, _("Your API token does not work any more."))
        return redirect("me")
    return render(request, "eqstudio/token.html", {"token": token_renew(person=person)})
