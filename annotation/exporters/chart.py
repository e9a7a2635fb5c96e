"""A small picture of what is in a split, for its card: plain SVG, the same bytes for the same figures."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

BAR, GAP, LABEL, WIDE, HEAD = 18, 6, 230, 420, 34


def bars_svg(title: str, rows: Sequence[tuple[str, int]]) -> str:
    """Horizontal bars with their labels and numbers."""
    most = max((number for _label, number in rows), default=1) or 1
    height = HEAD + len(rows) * (BAR + GAP) + GAP
    width = LABEL + WIDE + 70
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-family="sans-serif">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="20" font-size="14" fill="#1b1f24">{escape(title)}</text>',
    ]
    for place, (label, number) in enumerate(rows):
        top = HEAD + place * (BAR + GAP)
        long = round(WIDE * number / most, 1)
        parts += [
            f'<text x="{LABEL - 8}" y="{top + 13}" text-anchor="end" font-size="12" fill="#1b1f24">{escape(label)}</text>',
            f'<rect x="{LABEL}" y="{top}" width="{long}" height="{BAR}" fill="#3b6ea8"/>',
            f'<text x="{LABEL + long + 6}" y="{top + 13}" font-size="12" fill="#1b1f24">{number}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
