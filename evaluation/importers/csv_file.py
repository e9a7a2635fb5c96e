"""Plain tables: columns item, trial, answer and, where there are several, run (from 0)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from eqstudio.errors import InvalidInput
from evaluation.importers.base import AnswerImporter, GivenAnswer, size_check, text_of_file
from generation.importers.tables import encoding_of

COLUMNS = ("item", "trial", "answer")
MAX_RUN = 99


class CsvAnswers(AnswerImporter):
    """``answer`` is read like any other: a grade, an option's own words, or the public id of the chosen rendition. A letter
    means the slot in the order that imported sittings of the study have. Encoding and separator are found as for corpora.
    """

    alias: ClassVar = "csv"

    def read(self, path: Path) -> Iterator[GivenAnswer]:
        size_check(path)
        encoding = encoding_of(path)
        text = text_of_file(path, "utf-8-sig" if encoding == "utf-8" else encoding)
        head = text.partition("\n")[0]
        # What Excel saves as "Unicode text" has tabs.
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=head.count))
        try:
            yield from _rows(path, rows)
        except csv.Error as error:
            told = f"{path.name}, line {rows.reader.line_num}: is no row of a table ({error})."
            raise InvalidInput(told, field="path") from error


def _rows(path: Path, rows: csv.DictReader[str]) -> Iterator[GivenAnswer]:
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise InvalidInput(
            f"{path.name}: the columns {', '.join(missing)} are missing; expected item, trial, answer and perhaps run.",
            field=missing[0],
        )
    for number, row in enumerate(rows, start=2):
        run = (row.get("run") or "0").strip()
        usable = run.isdecimal() and len(run) <= len(str(MAX_RUN)) and int(run) <= MAX_RUN
        yield GivenAnswer(
            row=number,
            item=(row["item"] or "").strip(),
            trial=(row["trial"] or "").strip(),
            run=int(run) if usable else 0,
            raw=row["answer"] or "",
            problem="" if usable else f"run should be a whole number from 0 to {MAX_RUN}, not {run!r}.",
        )
