"""Tables as CSV: quoted, with times in UTC, and with nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from django.http import HttpResponse

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


def csv_response(*, name: str, header: Sequence[str], rows: Iterable[Sequence[Any]], bom: bool = False) -> HttpResponse:
    """A download called ``name``; ``bom`` is for spreadsheets that guess the encoding."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(header)
    for row in rows:
        writer.writerow([cell(value) for value in row])
    text = (BOM if bom else "") + buffer.getvalue()
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def cell(value: Any) -> Any:
    """Times in ISO 8601 with their offset, UTC; text that would be a formula is marked as text; None is empty."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds")
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, int):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
