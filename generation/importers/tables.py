"""Rows out of CSV, TSV and JSONL files as people and programs write them: one bad row is told and costs no other."""

from __future__ import annotations

import codecs
import csv
import json
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from generation.importers.base import Refusal

MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_NESTING = 100
_SNIFFED = 1024 * 1024
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BAD = "\udc80", "\udcff"


@dataclass(frozen=True)
class Row:
    """One record: where it stands, and what it says by column."""

    where: str
    values: dict[str, Any]


def rows_read(file: Path, name: str, *, strip: bool = True) -> Iterator[Row | Refusal]:
    """Read a table; CSV and TSV have a header in their first row, JSONL has an object a line.

    ``strip`` takes away the blanks around the cells of CSV and TSV.
    """
    encoding = encoding_of(file)
    reader = _jsonl if file.suffix.lower() in {".jsonl", ".ndjson", ".json"} else partial(_csv, strip=strip)
    # What cannot be decoded stays in its row as lone surrogates, so that it spoils no other.
    with file.open(encoding=encoding, errors="surrogateescape", newline="") as handle:
        yield from reader(handle, file, name)


def encoding_of(file: Path) -> str:
    """By its byte order mark; else UTF-8, unless most of its lines that are more than ASCII are GB 18030 and not UTF-8."""
    with file.open("rb") as handle:
        head = handle.read(_SNIFFED)
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return "utf-8-sig" if encoding == "utf-8" else encoding
    lines = [line for line in head.split(b"\n")[:-1] or [head] if not line.isascii()]
    strange = [line for line in lines if not _decodes(line, "utf-8")]
    chinese = [line for line in strange if _decodes(line, "gb18030")]
    return "gb18030" if len(chinese) * 2 > len(lines) else "utf-8"


def _decodes(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _csv(handle: Any, file: Path, name: str, *, strip: bool) -> Iterator[Row | Refusal]:
    first = handle.readline()
    if "\n" not in first and "\r" not in first and not first.strip():
        yield Refusal(path=name, row="", reason=_("The table is empty."))
        return
    handle.seek(0)
    delimiter = "\t" if file.suffix.lower() == ".tsv" else max(",;\t", key=first.count)
    lines = _Lines(handle)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    while True:
        lines.begin()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Refusal(name, lines.where, _("The row cannot be read: %(why)s.") % {"why": error})
            if not header:
                return
            lines.give_back()
            continue
        if not header:
            header = [column.strip().lower() for column in fields]
        elif len(fields) != len(header) and lines.give_back():
            yield Refusal(name, lines.where, _("A quotation mark in the row opens a cell and does not close it."))
        elif any(field.strip() for field in fields):
            yield _csv_row(name, lines.where, header, [field.strip() for field in fields] if strip else fields)


class _Lines:
    """The lines of a file for a reader of records. Those behind the first line of a record that makes no sense can be given
    back, so that a stray quotation mark costs its own line only.
    """

    def __init__(self, handle: Iterator[str]) -> None:
        self._handle = handle
        self._waiting: deque[str] = deque()
        self._taken: list[str] = []
        self._before = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._waiting.popleft() if self._waiting else next(self._handle)
        self._taken.append(line)
        return line

    @property
    def where(self) -> str:
        """The line on which the record begins, as an editor numbers it."""
        return _("row %(number)d") % {"number": self._before + 1}

    def begin(self) -> None:
        """The next line begins a record."""
        self._before += len(self._taken)
        self._taken = []

    def give_back(self) -> bool:
        """Let the record be its first line only; False when it was no more than that."""
        rest = self._taken[1:]
        self._waiting.extendleft(reversed(rest))
        del self._taken[1:]
        return bool(rest)


def _csv_row(name: str, where: str, header: list[str], fields: list[str]) -> Row | Refusal:
    if len(fields) != len(header):
        reason = _("The row has %(found)d fields; the header names %(expected)d.")
        return Refusal(name, where, reason % {"found": len(fields), "expected": len(header)})
    values = dict(zip(header, fields, strict=True))
    spoilt = unstorable(values)
    return Refusal(name, where, spoilt) if spoilt else Row(where, values)


def _jsonl(handle: Any, _file: Path, name: str) -> Iterator[Row | Refusal]:
    number = 0
    while True:
        line = handle.readline(MAX_LINE_BYTES)
        if not line:
            return
        number += 1
        where = _("line %(number)d") % {"number": number}
        if len(line) >= MAX_LINE_BYTES:
            while line and not line.endswith("\n"):
                line = handle.readline(MAX_LINE_BYTES)
            yield Refusal(path=name, row=where, reason=_("The line is longer than 4 MiB."))
        elif line.strip():
            yield _json_row(name, where, line)


def _json_row(name: str, where: str, line: str) -> Row | Refusal:
    try:
        values = json.loads(line.strip())
    except json.JSONDecodeError as error:
        reason = _("This is not JSON: %(what)s at column %(column)d.") % {"what": error.msg, "column": error.colno}
        return Refusal(name, where, reason)
    except RecursionError:
        return Refusal(name, where, _("It is nested too deeply."))
    if _is_nested(values, MAX_NESTING):
        return Refusal(name, where, _("It is nested too deeply."))
    if not isinstance(values, dict):
        return Refusal(name, where, _("Expected an object with columns, got %(value).80r.") % {"value": values})
    spoilt = unstorable(values)
    return Refusal(name, where, spoilt) if spoilt else Row(where, {str(key).lower(): values[key] for key in values})


def _is_nested(value: Any, most: int) -> bool:
    """Whether plain data is nested deeper than what walks over it later can go."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(most == 0 or _is_nested(part, most - 1) for part in parts if isinstance(part, dict | list))


def unstorable(value: Any, column: str = "") -> str | None:
    """Why a value cannot be kept as text or JSON, or None: bytes that are no text, NUL characters, numbers that are none."""
    if isinstance(value, dict):
        pairs = ((column or str(key), part) for key, each in value.items() for part in (key, each))
        return next((found for name, part in pairs if (found := unstorable(part, name))), None)
    if isinstance(value, list | tuple):
        return next((found for each in value if (found := unstorable(each, column))), None)
    reason = _spoilt(value)
    if reason is None:
        return None
    return _("Column %(column)s holds %(what)s.") % {"column": column, "what": reason} if column else reason


def _spoilt(value: Any) -> str | None:
    if isinstance(value, float) and not math.isfinite(value):
        return _("a number that is none (%(value)s)") % {"value": value}
    if not isinstance(value, str):
        return None
    if any(_BAD[0] <= char <= _BAD[1] for char in value):
        return _("bytes that are no text in UTF-8; save the file as UTF-8")
    if "\x00" in value:
        return _("a NUL character")
    if any("\ud800" <= char <= "\udfff" for char in value):
        return _("half of a character (a lone surrogate)")
    return None


def readable(text: str) -> str:
    """``text`` without what cannot be stored or shown, for messages about it."""
    return text.replace("\x00", "\ufffd").encode(errors="replace").decode()
