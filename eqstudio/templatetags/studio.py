"""Filters and tags that every template may use."""

from __future__ import annotations

from django import template

from eqstudio.estimates import Estimate

register = template.Library()


@register.filter
def figure(estimate: Estimate) -> str:
    """``0.71 (0.66-0.75), n 412``; an undefined figure is the word and its reason."""
    if estimate.value is None:
        return f"undefined: {estimate.reason}"
    interval = "" if estimate.lo is None or estimate.hi is None else f" ({estimate.lo:.2f}\N{EN DASH}{estimate.hi:.2f})"
    return f"{estimate.value:.2f}{interval}, n\N{NO-BREAK SPACE}{estimate.n}"
