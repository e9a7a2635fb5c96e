"""Judgements made elsewhere come in here, from a CSV file."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import ImportedRating, Round
from annotation.services.rounds import round_create
from eqstudio.errors import InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User

COLUMNS = ("item", "rater", "value")
OPTIONAL = ("dimension", "level")
LEVELS = ("nominal", "ordinal", "interval", "ratio")
_LENGTHS = {"item": 200, "rater": 200, "value": 200, "dimension": 80}
_BATCH = 2_000


class _Row(NamedTuple):
    number: int
    item: str
    rater: str
    value: str
    dimension: str
    level: str


@transaction.atomic
def ratings_import(*, path: Path, round: str, actor: User | None = None) -> dict[str, Any]:  # noqa: A002
    """Read ratings from a CSV file (UTF-8 with or without byte order mark, also gzipped) into the round of that name.

    Makes the round, without a corpus, when there is none. A row that is there already is skipped; one that is wrong is
    refused with its number and the reason, and the others are kept. InvalidInput when the file as a whole cannot be read;
    then nothing is stored. Writes one Event.
    """
    target = Round.objects.filter(name=round).first() or round_create(name=round, corpus=None, actor=actor)
    there = {
        (item, rater, dimension): value
        for item, rater, dimension, value in target.imported_ratings.values_list("item", "rater", "dimension", "value")
    }
    refused: list[dict[str, Any]] = []
    created: list[ImportedRating] = []
    skipped = 0
    for row in _rows(path):
        key = (row.item, row.rater, row.dimension)
        reason = _wrong(row) or _clash(there.get(key), row)
        if reason:
            refused.append({"path": str(path), "row": row.number, "reason": reason})
        elif key in there:
            skipped += 1
        else:
            there[key] = row.value
            created.append(ImportedRating(round=target, **{k: v for k, v in row._asdict().items() if k != "number"}))
    ImportedRating.objects.bulk_create(created, batch_size=_BATCH)
    event_record(
        actor=actor, verb="imported ratings", entity=target, created=len(created), skipped=skipped, refused=len(refused)
    )
    return {"round": target.name, "created": len(created), "skipped": skipped, "refused": refused}


def _rows(path: Path) -> Iterator[_Row]:
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle, strict=True)
            _header_check(path, reader.fieldnames)
            reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or []]
            for row in reader:
                yield _read(reader.line_num, row)
    except FileNotFoundError as error:
        raise InvalidInput(_("There is no file %(path)s.") % {"path": path}, field="csv") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            _("%(path)s is not UTF-8 text (byte %(byte)d). Save it as UTF-8 and try again.")
            % {"path": path.name, "byte": error.start},
            field="csv",
        ) from error
    except (csv.Error, gzip.BadGzipFile, EOFError, OSError) as error:
        raise InvalidInput(
            _("%(path)s cannot be read as CSV: %(error)s.") % {"path": path.name, "error": error}, field="csv"
        ) from error


def _header_check(path: Path, names: Any) -> None:
    found = [str(name).strip().lower() for name in names or []]
    missing = [name for name in COLUMNS if name not in found]
    if missing:
        raise InvalidInput(
            _(
                "%(path)s, row 1: no column %(missing)s. Expected item, rater, value and, if you like, dimension and level; found %(found)s."
            )
            % {"path": path.name, "missing": ", ".join(missing), "found": ", ".join(found) or _("nothing")},
            field=missing[0],
        )


def _read(number: int, row: dict[str, Any]) -> _Row:
    cell = {name: str(row.get(name) or "").strip() for name in (*COLUMNS, *OPTIONAL)}
    return _Row(number=number, **{**cell, "level": cell["level"].lower()})


def _wrong(row: _Row) -> str:
    for name, length in _LENGTHS.items():
        text = getattr(row, name)
        if name in COLUMNS and not text:
            return _("%(name)s is empty") % {"name": name}
        if "\0" in text:
            return _("%(name)s holds a NUL character") % {"name": name}
        if len(text) > length:
            return _("%(name)s is longer than %(length)d characters") % {"name": name, "length": length}
    if row.level and row.level not in LEVELS:
        return _("level is %(level)r, not one of %(known)s") % {"level": row.level, "known": ", ".join(LEVELS)}
    return ""


def _clash(there: str | None, row: _Row) -> str:
    if there is None or there == row.value:
        return ""
    return _("%(rater)s already rated %(item)s as %(there)s; %(value)s was not stored") % {
        "rater": row.rater,
        "item": row.item,
        "there": there,
        "value": row.value,
    }
