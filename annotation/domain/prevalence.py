"""The prevalence paradox: raters agree nearly always, and a coefficient that corrects for chance is still low.

When nearly all ratings have one value, chance alone gives nearly full agreement, so there is hardly anything left that a
chance-corrected coefficient could credit (Feinstein and Cicchetti 1990; Gwet 2008).
"""

from __future__ import annotations

from typing import NamedTuple

from annotation.domain.agreement import Agreement
from annotation.domain.ratings import Coded, Value

HIGH_PERCENT = 0.8
LOW_ALPHA = 0.667
"""Krippendorff's customary lower limit; here it only says when an explanation is worth its place."""
ONE_SIDED = 0.75


class Prevalence(NamedTuple):
    """``value`` makes up ``share`` of the ratings; ``shares`` are those of all values, most frequent first."""

    value: Value
    share: float
    shares: tuple[tuple[Value, float], ...]


def prevalence(table: Coded, found: Agreement, *, alpha: str = "alpha_nominal") -> Prevalence | None:
    """Which value dominates, where that makes alpha low beside a high raw agreement; else None."""
    percent, corrected = found.estimates.get("percent_agreement"), found.estimates.get(alpha)
    if percent is None or percent.value is None or percent.value < HIGH_PERCENT or corrected is None:
        return None
    counted = table.counts().sum(axis=0)
    shares = sorted(zip(table.domain, counted / counted.sum(), strict=True), key=lambda pair: -pair[1])
    value, share = shares[0]
    low = corrected.value is None or corrected.value < LOW_ALPHA
    if not low or share < ONE_SIDED:
        return None
    return Prevalence(value, float(share), tuple((name, float(part)) for name, part in shares))
