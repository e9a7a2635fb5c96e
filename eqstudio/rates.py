"""How often one address may try something: django-allauth's counters, for doors that are not its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allauth.core.internal import ratelimit

if TYPE_CHECKING:
    from django.http import HttpRequest


def within_rate(request: HttpRequest, *, action: str, rates: str, count: bool = True) -> bool:
    """Whether this address may try ``action`` once more by ``rates`` (as in ``10/10m/ip,60/d/ip``).

    With ``count`` the try is counted; without, it is only looked at.
    """
    used = ratelimit.consume(request, app="eqstudio", action=action, config={action: rates}, dry_run=not count)
    return used is not None
