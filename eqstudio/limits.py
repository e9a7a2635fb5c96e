"""What the settings say about providers, held against its shape. Read by the settings, so nothing here needs Django's."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

_PRICE_UNITS = {"in", "out", "minute", "characters"}
_LIMITS = {"concurrency", "per_minute"}


def prices_checked(prices: Any) -> dict[str, dict[str, float]]:
    """US dollars by model: per million tokens (``in``, ``out``), per minute of audio, per million characters."""
    _shape_check("EQSTUDIO_PRICES", prices, _PRICE_UNITS)
    if any(value < 0 for price in prices.values() for value in price.values()):
        raise ImproperlyConfigured("EQSTUDIO_PRICES: a price is not below zero.")
    return dict(prices)


def limits_checked(limits: Any) -> dict[str, dict[str, int]]:
    """By alias, or by kind and alias (``voice:openai``): how many calls at once, and how many a minute."""
    _shape_check("EQSTUDIO_PROVIDER_LIMITS", limits, _LIMITS)
    if any(not isinstance(value, int) or value < 1 for limit in limits.values() for value in limit.values()):
        raise ImproperlyConfigured("EQSTUDIO_PROVIDER_LIMITS: a limit is a whole number of at least 1.")
    return dict(limits)


def _shape_check(name: str, table: Any, known: set[str]) -> None:
    example = dict.fromkeys(sorted(known), 1)
    if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
        raise ImproperlyConfigured(f'{name} must be JSON like {{"name": {example}}}.')
    for key, row in table.items():
        for word, value in row.items():
            if word not in known:
                raise ImproperlyConfigured(f"{name}: {key} has {word!r}; known are {', '.join(sorted(known))}.")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ImproperlyConfigured(f"{name}: {key} has {word} = {value!r}, which is not a number.")
