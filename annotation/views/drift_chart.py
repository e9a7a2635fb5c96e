"""Severity by block of judgements as the coordinates of a small SVG. The page shows the same numbers in a table."""

from __future__ import annotations

from typing import Any

from annotation.domain.severity import Drift

WIDTH, HEIGHT = 640, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 28
LEAST = 1.0
"""The axis shows a grade up and down at least, so that small changes look small."""


def drift_chart(drift: Drift) -> dict[str, Any] | None:
    """None where there are no blocks. y grows downwards; whole pixels, so that no locale writes a decimal comma."""
    if not drift.blocks:
        return None
    figures = [block.severity for block in drift.blocks]
    ends = [abs(end) for figure in figures for end in (figure.value, figure.lo, figure.hi) if end is not None]
    reach = max(LEAST, *ends)
    step = (WIDTH - LEFT - RIGHT) / len(figures)

    def y(value: float) -> int:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (reach - value) / (2 * reach))

    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "label_x": LEFT - 8,
        "label_y": HEIGHT - 8,
        "lines": [{"y": y(value), "text": f"{value:+.1f}" if value else "0"} for value in (reach, 0.0, -reach)],
        "points": [
            {
                "x": round(LEFT + step * (place + 0.5)),
                "y": y(block.severity.value or 0.0),
                "lo": None if block.severity.lo is None else y(block.severity.lo),
                "hi": None if block.severity.hi is None else y(block.severity.hi),
                "text": f"{block.first}\N{EN DASH}{block.last}",
            }
            for place, block in enumerate(drift.blocks)
        ],
    }
