"""Ratings from a file: CSV, TSV or JSON lines, gzipped or not, in any encoding that is told or tells itself.

A file that as a whole cannot be read is refused with the place (InvalidInput); a row that is wrong is a Refusal, and the
others are read.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import math
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from eqstudio.errors import InvalidInput
from eqstudio.tables import cell_plain

COLUMNS = ("item", "rater", "value")
ALSO = {"rating": "value", "label": "value"}
OPTIONAL = ("dimension", "level")
LEVELS = ("nominal", "ordinal", "interval", "ratio")
DUPLICATES = ("error", "first", "last", "mean")
ENCODINGS = ("utf-8", "utf-16", "gb18030", "cp1252")
"""Offered on the page, and named when a file is not UTF-8; the command takes any that Python knows."""
LENGTHS = {"item": 200, "rater": 200, "value": 200, "dimension": 80}
LARGEST = 512 * 1024 * 1024
"""Bytes after unpacking."""
_LONGEST_FIELD = 16 * 1024 * 1024
_GZIP = b"\x1f\x8b"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
          (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


class Row(NamedTuple):
    """One rating as it stands in the file; ``number`` is the line it ends on."""

    number: int
    item: str
    rater: str
    value: str
    dimension: str
    level: str

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.item, self.rater, self.dimension)


class Refusal(NamedTuple):
    """A row that was not taken, and why."""

    number: int
    reason: str


def ratings_read(data: bytes, *, name: str, encoding: str = "") -> Iterator[Row | Refusal]:
    """Every row of a file in order, as a rating or as the reason why it is none."""
    text = text_of(data, name=name, encoding=encoding)
    read = _json_rows if text.lstrip()[:1] == "{" else _table_rows
    for number, cells in read(text, name):
        if isinstance(cells, str):
            yield Refusal(number, cells)
            continue
        row = Row(number=number, **cells)
        if not row.value.isascii() and _number(row.value):
            row = row._replace(value=unicodedata.normalize("NFKC", row.value))
        reason = _wrong(row)
        yield Refusal(number, reason) if reason else row


def text_of(data: bytes, *, name: str, encoding: str = "") -> str:
    """The text of a file: by its byte order mark, else by ``encoding``, else UTF-8. InvalidInput names byte and row."""
    if data.startswith(_GZIP):
        data = _unpacked(data, name)
    marked = next((found for mark, found in _MARKS if data.startswith(mark)), "")
    chosen = marked or encoding or "utf-8"
    try:
        return data.decode(chosen)
    except LookupError as error:
        raise InvalidInput(
            f"There is no encoding called {encoding!r}. Known are, among others: {', '.join(ENCODINGS)}.",
            field="encoding",
        ) from error
    except UnicodeDecodeError as error:
        row = data[: error.start].count(b"\n") + 1
        fits = [other for other in ENCODINGS if other != chosen and _fits(data, other)]
        hint = f" It can be read as {', '.join(fits)}: say which it is in." if fits else ""
        raise InvalidInput(
            f"{name} is not {_told(chosen)} text: byte {error.start} (0x{data[error.start]:02x}) in row {row}. Nothing was stored.{hint}",
            field="encoding",
        ) from error


def _told(encoding: str) -> str:
    return encoding.removesuffix("-sig").upper()


def _fits(data: bytes, encoding: str) -> bool:
    """Whether a file reads as this encoding and then begins with a header of ours."""
    try:
        head = data.decode(encoding).lower()[:1_000]
    except UnicodeDecodeError:
        return False
    return "item" in head and "rater" in head


def _unpacked(data: bytes, name: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as handle:
            found = handle.read(LARGEST + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInput(
            f"{name} is a gzip file that cannot be unpacked: {error}. Nothing was stored.", field="csv"
        ) from error
    if len(found) > LARGEST:
        raise InvalidInput(
            f"{name} is larger than {LARGEST // 2**20} MiB when unpacked. Nothing was stored.", field="csv"
        )
    return found


def _table_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, str] | str]]:
    csv.field_size_limit(_LONGEST_FIELD)
    head = text.partition("\n")[0]
    delimiter = max(",\t;", key=lambda mark: (head.count(mark), mark == ","))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = [_column(cell) for cell in next(reader, [])]
        _header_check(name, names)
        for cells in reader:
            if len(cells) > len(names):
                yield reader.line_num, f"has {len(cells)} cells where the header has {len(names)}"
            elif cells:
                found = dict(zip(names, cells, strict=False))
                yield reader.line_num, _cells({key: cell_plain(cell.strip()) for key, cell in found.items()})
    except csv.Error as error:
        raise InvalidInput(
            f"{name}, row {reader.line_num}: cannot be read as CSV: {error}. Nothing was stored.", field="csv"
        ) from error


def _column(name: str) -> str:
    plain = name.strip().lower()
    return ALSO.get(plain, plain)


def _header_check(name: str, found: list[str]) -> None:
    missing = [column for column in COLUMNS if column not in found]
    if missing:
        raise InvalidInput(
            f"{name}, row 1: no column {', '.join(missing)}. Expected item, rater, value (or rating, or label) and, if you like, "
            f"dimension and level; found {', '.join(found) or 'nothing'}.",
            field=missing[0],
        )
    twice = sorted({column for column in found if column in COLUMNS + OPTIONAL and found.count(column) > 1})
    if twice:
        raise InvalidInput(f"{name}, row 1: more than one column for {', '.join(twice)}.", field=twice[0])


def _json_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, str] | str]]:  # noqa: ARG001 -- as _table_rows
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"is no JSON: {error}"
            continue
        if not isinstance(found, dict):
            yield number, "is no JSON object"
            continue
        named = {_column(str(key)): value for key, value in found.items()}
        nested = [key for key in COLUMNS + OPTIONAL if isinstance(named.get(key), dict | list | bool)]
        yield number, f"{nested[0]} is no text or number" if nested else _cells(named)


def _cells(found: dict[str, Any]) -> dict[str, str]:
    cells = {name: _text(found.get(name)) for name in (*COLUMNS, *OPTIONAL)}
    return {**cells, "level": cells["level"].lower()}


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and math.isfinite(value):
        return str(int(value))
    return str(value).strip()


def _wrong(row: Row) -> str:
    for name, length in LENGTHS.items():
        text: str = getattr(row, name)
        if name in COLUMNS and not text:
            return f"{name} is empty"
        if "\0" in text:
            return f"{name} holds a NUL character"
        if any("\ud800" <= sign <= "\udfff" for sign in text):
            return f"{name} holds half of a character (a lone surrogate)"
        if len(text) > length:
            return f"{name} is longer than {length} characters"
    if row.level and row.level not in LEVELS:
        return f"level is {row.level[:40]!r}, not one of {', '.join(LEVELS)}"
    return ""


def without_duplicates(rows: Iterable[Row | Refusal], rule: str) -> tuple[list[Row], list[Refusal], int]:
    """Rows with one value per item, rater and dimension; refusals; and how many rows were dropped as repeats.

    ``rule`` error: the first is kept, an equal repeat is dropped and another value refused. first, last: that one is kept.
    mean: the mean of all, where they are numbers.
    """
    if rule not in DUPLICATES:
        raise InvalidInput(f"Unknown rule for duplicates {rule!r}. Known: {', '.join(DUPLICATES)}.", field="duplicates")
    kept: dict[tuple[str, str, str], list[Row]] = {}
    refused: list[Refusal] = []
    dropped = 0
    for row in rows:
        if isinstance(row, Refusal):
            refused.append(row)
            continue
        there = kept.setdefault(row.key, [])
        if rule == "mean" and not _number(row.value):
            refused.append(Refusal(row.number, f"value {row.value[:40]!r} is no number, so there is no mean"))
        elif there and rule == "error" and there[0].value != row.value:
            refused.append(Refusal(row.number, clash(there[0].value, row)))
        elif there and rule in ("error", "first"):
            dropped += 1
        else:
            dropped += bool(there)
            kept[row.key] = [*there, row] if rule == "mean" else [row]
    found = [_mean(some) if rule == "mean" else some[0] for some in kept.values() if some]
    return found, refused, dropped


def on_scales(
    rows: Iterable[Row | Refusal], scales: Mapping[str, Sequence[str | int | float]]
) -> Iterator[Row | Refusal]:
    """The rows, those of a dimension in ``scales`` with their value as the scale writes it, refused where it is not on it."""
    for row in rows:
        scale = scales.get(row.dimension) if isinstance(row, Row) else None
        if scale is None or isinstance(row, Refusal):
            yield row
            continue
        found = _placed(row.value, scale)
        known = ", ".join(map(str, scale))
        wrong = f"value {row.value[:40]!r} is not on the scale of {row.dimension}; expected one of {known}"
        yield Refusal(row.number, wrong) if found is None else row._replace(value=found)


def _placed(value: str, scale: Sequence[str | int | float]) -> str | None:
    number = float(value) if _number(value) else None
    return next((str(one) for one in scale if value.casefold() == str(one) or one == number), None)


def clash(there: str, row: Row) -> str:
    """Why a second value of a rater for an item is not stored."""
    return f"{row.rater} already rated {row.item} as {there}; {row.value} was not stored"


def _number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _mean(rows: list[Row]) -> Row:
    if len(rows) == 1:
        return rows[0]
    mean = fmean(float(row.value) for row in rows)
    return rows[-1]._replace(value=str(int(mean)) if mean.is_integer() else repr(round(mean, 6)))
