"""SpeechEQ's own layout: ``data/<subscale>/<dataset id>/metadata.json`` beside ``audio/01`` to ``08``.

The files keep the ending of what they hold (.mp3 in the original). What its metadata has no field for stands under
``eqstudio``; whoever does not know that key loses nothing of SpeechEQ's own.
"""

from __future__ import annotations

import json
import re
from typing import Any

from django.utils.translation import gettext as _

from annotation.exporters.base import Exporter, Work
from annotation.exporters.clips import ahead, clips_load
from annotation.exporters.rows import split_places, split_records
from eqstudio.benchmarks.speecheq import subscale_label
from eqstudio.errors import InvalidInput

LAYOUT = ((1, "only"), (2, "only"), (3, "only"), (4, "high"), (4, "low"), (5, "only"), (6, "high"), (6, "low"))
"""Which line and rendition lies in which of the eight files, in order."""
_TELL_EVERY = 20
_SAFE = re.compile(r"[\w.-]{1,120}")


class SpeechEQExporter(Exporter):
    alias = "speecheq"
    benchmark = "speecheq"
    opening = (
        "`data/<subscale>/<dataset id>/metadata.json` tells a dialogue, `audio/01` to `08` beside it are its renditions: three "
        "lines, the fourth as high and low, the fifth, the sixth as high and low. `sides.json` lists which dialogue belongs "
        "to which side. The studio reads it with `corpus_import FOLDER/data --format speecheq`."
    )

    def write(self, work: Work) -> None:
        sides: dict[str, list[str]] = {}
        number = 0
        for side, places in split_places(work.split).items():
            for row, clips in ahead(clips_load, split_records(work.split, places)):
                sides.setdefault(side, []).append(_dialogue(work, row, clips))
                number += 1
                if number % _TELL_EVERY == 0:
                    work.progress(number)
        work.sink.put("sides.json", (json.dumps(sides, indent=1) + "\n").encode())
        work.progress(number)


def _dialogue(work: Work, row: dict[str, Any], clips: dict[str, bytes]) -> str:
    """Write one folder; its id."""
    name: str = row["external_id"] if _SAFE.fullmatch(row["external_id"].strip(".")) else row["dialogue_id"]
    folder = f"data/{row['category']}/{name}"
    variants = _variants(row)
    files = [f"{place:02d}.{variant['file'].rpartition('.')[2]}" for place, (_turn, variant) in enumerate(variants, 1)]
    for file, (_turn, variant) in zip(files, variants, strict=True):
        work.sink.put(f"{folder}/audio/{file}", clips[variant["sha256"]], sha256=variant["sha256"])
    document = _metadata(row, variants, folder, files, name)
    work.sink.put(f"{folder}/metadata.json", (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode())
    return name


def _variants(row: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The eight renditions. InvalidInput names a dialogue that is not built as SpeechEQ's are."""
    there = {(turn["position"], v["label"]): (turn, v) for turn in row["turns"] for v in turn["variants"] if v["file"]}
    speakers = {turn["position"]: turn["speaker"] for turn in row["turns"]}
    wanted = {place: "speaker2" if place % 2 == 0 else "speaker1" for place in range(1, 7)}
    if set(there) != set(LAYOUT) or speakers != wanted:
        raise InvalidInput(
            _(
                "Dialogue %(uid)s is not built as SpeechEQ's are (six lines by turns, the fourth and the sixth voiced as high and low), so this split cannot leave in that layout. Choose another format."
            )
            % {"uid": row["dialogue_id"]},
            field="format",
        )
    return [there[place] for place in LAYOUT]


def _metadata(row: dict[str, Any], variants: list[Any], folder: str, files: list[str], name: str) -> dict[str, Any]:
    scenario, extras = json.loads(row["scenario"]), json.loads(row["extras"])
    label = subscale_label(row["category"])
    lines = [
        {"speaker": turn["speaker"], "sentence_number": turn["position"], "text": turn["variants"][0]["text"]}
        for turn in row["turns"]
    ]
    audio = [
        {
            "sentence_number": turn["position"],
            "speaker": turn["speaker"],
            "text": variant["text"],
            "eq_level": "low" if variant["label"] == "low" else "high",
            "audio_path": f"{folder}/audio/{file}",
            "tone_description": variant["tone"],
        }
        for (turn, variant), file in zip(variants, files, strict=True)
    ]
    made = extras.get("generation_metadata") if isinstance(extras.get("generation_metadata"), dict) else {}
    return {
        "scenario": _scenario(row, scenario, label),
        "conversation": lines,
        "eq_scale": label,
        "audio_files": audio,
        "generation_metadata": {
            **(made or {}),
            "dataset_id": name,
            "subscale_slug": row["category"],
            "output_path": folder,
            "audio_files_count": len(audio),
        },
        "eqstudio": {
            **{
                key: row[key]
                for key in ("dialogue_id", "external_id", "language", "source", "side", "valence", "title")
            },
            **{key: row[key] for key in ("template_key", "topic_key")},
            "scenario": scenario,
            "extras": extras,
            "turns": [_beyond(turn) for turn in row["turns"]],
        },
    }


def _scenario(row: dict[str, Any], scenario: dict[str, Any], label: str) -> dict[str, Any]:
    """SpeechEQ's fields: those that are known, and the ones it cannot do without from the lines themselves."""
    filled = {"title": row["title"] or row["dialogue_id"], "context": row["title"] or row["dialogue_id"]}
    for turn in row["turns"][:2]:
        part = turn["speaker"]
        filled |= {f"{part}_name": turn["speaker_name"] or part, f"{part}_gender": turn["gender"]}
        filled[f"{part}_voice"] = turn["voice"]
    said = {key: value for key, value in scenario.items() if value}
    return {**filled, "scenario_valence": row["valence"], "eq_skill_tested": label, **said}


def _beyond(turn: dict[str, Any]) -> dict[str, Any]:
    kept = {key: turn[key] for key in ("position", "speaker_name", "gender", "voice")}
    variants = [
        {
            "label": variant["label"],
            "delivery": json.loads(variant["delivery"]),
            "intended_grade": variant["intended_grade"],
            "rationale": variant["rationale"],
            "sha256": variant["sha256"],
        }
        for variant in turn["variants"]
    ]
    return {**kept, "variants": variants}
