"""Tables that leave as CSV: quoting, a byte order mark where a spreadsheet needs one, and no cell that runs as a formula."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


class _Line:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def cell_safe(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets an apostrophe before it; numbers stay as they are."""
    text = "" if value is None else value
    if isinstance(text, str) and _FORMULA.match(text) and not _is_number(text):
        return f"'{text}"
    return text


def cell_plain(text: str) -> str:
    """What ``cell_safe`` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[Any]], *, bom: bool = False) -> Iterator[str]:
    """A CSV file, line by line (RFC 4180)."""
    writer = csv.writer(_Line())
    if bom:
        yield BOM
    yield writer.writerow(head)  # type: ignore[misc]
    for row in rows:
        yield writer.writerow([cell_safe(cell) for cell in row])  # type: ignore[misc]
