"""An Estimate: a statistic with its interval and n, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

Z = 1.959963984540054
"""The normal quantile of two-sided 95 %."""


@dataclass(frozen=True)
class Estimate:
    """``value`` with a 95 % interval ``lo``..``hi`` from ``n`` units; ``reason`` is set exactly when value is None."""

    value: float | None
    lo: float | None = None
    hi: float | None = None
    n: int = 0
    reason: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.reason is None):
            raise ValueError("an Estimate has either a value or a reason")

    @classmethod
    def undefined(cls, reason: str, *, n: int = 0) -> Estimate:
        return cls(value=None, n=n, reason=reason)

    def as_dict(self) -> dict[str, Any]:
        """The JSON shape others rely on: value, lo, hi, n, reason."""
        return asdict(self)


def clustered_share(clusters: Iterable[tuple[int, int]]) -> Estimate:
    """The share of hits over clusters of (hits, asked), one at least with ``asked`` > 0; ``n`` is all that was asked.

    Answers of one cluster share much, so that ten of them tell less than ten clusters: Wilson's interval is for as many
    independent answers as they are worth, their number over the design effect (Kish 1965: the variance between clusters over
    that of independent answers, 1 at least). Where all answers are alike nothing tells it, and each cluster counts once.
    """
    found = [(hits, asked) for hits, asked in clusters if asked]
    right, n = sum(hits for hits, _asked in found), sum(asked for _hits, asked in found)
    share = right / n
    between = sum((hits - share * asked) ** 2 for hits, asked in found) / n**2
    alone = share * (1 - share) / n
    worth = n / max(1.0, between / alone) if alone else float(len(found))
    return Estimate(share, *wilson(share * worth, worth), n)


def wilson(hits: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a share of ``hits`` in ``n`` > 0 (Wilson 1927), within 0..1. Both may be fractions, where ``n`` is
    what dependent answers are worth in independent ones.

    Written out, since the packages that have it would stay in the memory of every web process that looks at gold.
    """
    share = hits / n
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)
