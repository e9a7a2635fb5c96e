"""Who may open the generation pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from eqstudio.access import can_curate, can_sit_exam
from eqstudio.errors import Forbidden, NotFound
from eqstudio.models import User


def curating(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For researchers and admins. Somebody with another role gets 403, somebody without any 404."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not can_sit_exam(request.user):
            raise NotFound(_("There is no such page."))
        if not can_curate(request.user):
            raise Forbidden(_("Your role does not include this page."))
        return view(request, *args, **kwargs)

    return guarded


def person(request: HttpRequest) -> User:
    """Who is signed in; the guard has seen to it that somebody is."""
    return cast("User", request.user)
