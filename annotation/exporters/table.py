"""One row of CSV a recording, for spreadsheets and scripts, beside the audio files that it names.

A cell that a spreadsheet would take for a formula gets an apostrophe in front; one that begins with apostrophes and then
such a sign gets one more, so that taking one away gives the text back.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from annotation.exporters.base import Exporter, Work
from annotation.exporters.folders import audio_name, records_with_audio
from annotation.exporters.rows import split_places, variants_of

TABLE = "metadata.csv"
DIALOGUE = (
    "dialogue_id",
    "external_id",
    "benchmark",
    "category",
    "language",
    "source",
    "side",
    "valence",
    "title",
    "scenario",
    "extras",
    "template_key",
    "topic_key",
    "outcome",
)
TURN = ("position", "role", "speaker", "speaker_name", "gender", "voice")
VARIANT = ("variant_id", "label", "text", "tone", "delivery", "intended_grade", "rationale")
CLIP = ("sha256", "duration", "loudness", "pitch", "grades", "median_grade", "verdicts")
COLUMNS = (*DIALOGUE, *TURN, *VARIANT, "audio", *CLIP)
BOM = b"\xef\xbb\xbf"
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")


class CsvExporter(Exporter):
    alias = "csv"
    opening = (
        f"`{TABLE}` holds one recording a row, `audio` names its file in this folder. Cells that a spreadsheet would take "
        "for a formula begin with an apostrophe. The studio reads it with `corpus_import FOLDER --format audio`."
    )

    def write(self, work: Work) -> None:
        done = 0
        with work.sink.file(TABLE) as handle:
            handle.write((BOM if work.options.bom else b"") + csv_line(COLUMNS))
            for places in split_places(work.split).values():
                for row in records_with_audio(work, places, done=done):
                    handle.write(b"".join(csv_line(cells) for cells in _rows(row)))
                done += len(places)


def _rows(row: dict[str, Any]) -> Iterator[list[str]]:
    verdicts = " ".join(f"{said['rater']}:{said['verdict']}" for said in row["judgements"])
    for turn, variant in variants_of(row):
        grades = " ".join(
            f"{rater}:{grade}" for rater, grade in zip(variant["graded_by"], variant["grades"], strict=True)
        )
        values = {**row, **turn, **variant, "audio": audio_name(variant), "grades": grades, "verdicts": verdicts}
        yield [_plain(values[name]) for name in COLUMNS]


def _plain(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):  # a negative number is no formula
        return text
    return f"'{text}" if _FORMULA.match(text) else text


def csv_line(cells: Any) -> bytes:
    """One row as bytes."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().encode()
