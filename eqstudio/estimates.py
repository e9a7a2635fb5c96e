"""An Estimate: a statistic with its interval and n, or the reason why there is none."""

from __future__ import annotations

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


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share of ``hits`` in ``n`` > 0 (Wilson 1927), within 0..1.

    Written out, since the packages that have it would stay in the memory of every web process that looks at gold.
    """
    share = hits / n
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return max(0.0, centre - half), min(1.0, centre + half)
