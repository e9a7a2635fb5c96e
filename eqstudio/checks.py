"""System checks: what must be right before the studio starts."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register


@register(Tags.security, deploy=False)
def production_is_not_a_demo(**_kwargs: Any) -> list[CheckMessage]:
    """In production the embedded defaults that lose data or leak are refused."""
    if not settings.PRODUCTION:
        return []
    problems: list[CheckMessage] = []
    if settings.DEBUG:
        problems.append(Error("EQSTUDIO_DEBUG is on in production.", hint="Unset it.", id="eqstudio.E001"))
    if not settings.REDIS_URL:
        problems.append(Error("Production needs a broker.", hint="Set REDIS_URL.", id="eqstudio.E002"))
    return problems
