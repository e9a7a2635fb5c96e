"""What every page's shell needs: roles and the rail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eqstudio.access import role_names

if TYPE_CHECKING:
    from django.http import HttpRequest


def shell(request: HttpRequest) -> dict[str, Any]:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {"roles": frozenset()}
    return {"roles": role_names(user)}
