"""Plain tables: columns item, trial, answer and, where there are several, run (from 0)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from eqstudio.errors import InvalidInput
from evaluation.importers.base import AnswerImporter, GivenAnswer, text_of_file

COLUMNS = ("item", "trial", "answer")
MAX_RUN = 99


class CsvAnswers(AnswerImporter):
    """``answer`` is read like any other: a grade, an option's own words, or the public id of the chosen rendition. A letter
    means the slot in the order that imported sittings of the study have.
    """

    alias: ClassVar = "csv"

    def read(self, path: Path) -> Iterator[GivenAnswer]:
        rows = csv.DictReader(io.StringIO(text_of_file(path)))
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise InvalidInput(
                f"{path.name}: the columns {', '.join(missing)} are missing; expected item, trial, answer and perhaps run.",
                field=missing[0],
            )
        for number, row in enumerate(rows, start=2):
            run = (row.get("run") or "0").strip()
            usable = run.isdigit() and int(run) <= MAX_RUN
            yield GivenAnswer(
                row=number,
                item=(row["item"] or "").strip(),
                trial=(row["trial"] or "").strip(),
                run=int(run) if usable else 0,
                raw=row["answer"] or "",
                problem="" if usable else f"run should be a whole number from 0 to {MAX_RUN}, not {run!r}.",
            )
