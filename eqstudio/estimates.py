"""An Estimate: a statistic with its interval and n, or the reason why there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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
