"""Aggregates that may be published: no count so small that it points at somebody."""

from __future__ import annotations

from collections.abc import Mapping

MINIMUM_CELL = 5


def cells_published(counts: Mapping[str, int], *, minimum: int = MINIMUM_CELL) -> dict[str, int | None]:
    """Each count, or None where it is below ``minimum``.

    A single hidden count would follow from the total, so the next smallest is hidden with it.
    """
    shown: dict[str, int | None] = {name: (count if count >= minimum else None) for name, count in counts.items()}
    hidden = [name for name, count in shown.items() if count is None]
    rest = sorted((count, name) for name, count in shown.items() if count is not None)
    if len(hidden) == 1 and rest:
        shown[rest[0][1]] = None
    return shown
