"""One line of JSON a dialogue, nested as it is, beside the audio files that it names."""

from __future__ import annotations

import json
from typing import Any

from annotation.exporters.base import Exporter, Work
from annotation.exporters.folders import audio_name, lines_write, records_with_audio
from annotation.exporters.rows import split_places


class JsonLinesExporter(Exporter):
    alias = "jsonl"
    opening = (
        "`test.jsonl` (and so on, a file a side) holds one dialogue a line; `audio` names a file in this folder. "
        "The studio reads it with `corpus_import FOLDER --format audio`."
    )

    def data_files(self, sides: list[str]) -> dict[str, str]:
        return {side: f"{side}.jsonl" for side in sides}

    def write(self, work: Work) -> None:
        done = 0
        for side, places in split_places(work.split).items():
            lines_write(work, f"{side}.jsonl", records_with_audio(work, places, done=done), line_of)
            done += len(places)


def line_of(row: dict[str, Any]) -> str:
    """A dialogue as a line."""
    return json.dumps(nested(row), ensure_ascii=False) + "\n"


def nested(row: dict[str, Any]) -> dict[str, Any]:
    """A row with its JSON columns as JSON, and its sounds as names of files."""
    turns = [{**turn, "variants": [_variant(variant) for variant in turn["variants"]]} for turn in row["turns"]]
    said = [{**found, "answers": json.loads(found["answers"])} for found in row["judgements"]]
    return {
        **row,
        "scenario": json.loads(row["scenario"]),
        "extras": json.loads(row["extras"]),
        "turns": turns,
        "judgements": said,
    }


def _variant(variant: dict[str, Any]) -> dict[str, Any]:
    plain = {name: value for name, value in variant.items() if name not in ("file", "media_type", "size")}
    return {**plain, "delivery": json.loads(variant["delivery"]), "audio": audio_name(variant) or None}
