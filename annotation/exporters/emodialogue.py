"""EmoDialogue-style JSONL for training: what is said, four replies with their grades and the rationale of each."""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _

from annotation.exporters.base import Exporter, Work
from annotation.exporters.folders import audio_name, lines_write, records_with_audio
from annotation.exporters.rows import split_places
from eqstudio.errors import InvalidInput

GRADES = [1, 2, 3, 4]
DELIVERY = ("emotion", "volume", "rate", "pitch", "non_verbal")


class EmoDialogueExporter(Exporter):
    alias = "emodialogue"
    benchmark = "emosbench"
    opening = (
        "`train.jsonl` (and so on, a file a side) holds one input and four responses a line: `grade` is the intended one, "
        "`human_grades` what people gave, `rationale` why. Audio is named relative to the file. The studio reads it with "
        "`corpus_import FOLDER --format emodialogue`."
    )

    def data_files(self, sides: list[str]) -> dict[str, str]:
        return {side: f"{side}.jsonl" for side in sides}

    def write(self, work: Work) -> None:
        done = 0
        for side, places in split_places(work.split).items():
            lines_write(work, f"{side}.jsonl", records_with_audio(work, places, done=done), _line)
            done += len(places)


def _line(row: dict[str, Any]) -> str:
    *earlier, said, replies = _turns(row)
    scenario = json.loads(row["scenario"])
    document = {
        "id": row["external_id"] or row["dialogue_id"],
        "language": row["language"],
        "category": row["category"],
        "title": row["title"],
        "context": str(scenario.get("context", "")),
        "source": row["source"],
        "history": [{"speaker": _part(turn), **_said(turn, turn["variants"][0])} for turn in earlier],
        "input": _said(said, said["variants"][0]),
        "responses": [_reply(replies, variant) for variant in replies["variants"]],
        "eqstudio": {
            **{
                key: row[key] for key in ("dialogue_id", "external_id", "valence", "title", "template_key", "topic_key")
            },
            "source": row["source"],
            "scenario": scenario,
            "extras": json.loads(row["extras"]),
            "turns": [_beyond(turn) for turn in row["turns"]],
        },
    }
    return json.dumps(document, ensure_ascii=False) + "\n"


def _turns(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines, the graded one last. InvalidInput names a dialogue that is not built as EmoDialogue's are."""
    *context, replies = row["turns"] or [{"variants": []}]
    graded = sorted(variant["intended_grade"] or 0 for variant in replies["variants"])
    voiced = all(variant["file"] for turn in row["turns"] for variant in turn["variants"])
    if not context or graded != GRADES or not voiced or any(len(turn["variants"]) != 1 for turn in context):
        raise InvalidInput(
            _(
                "Dialogue %(uid)s is not built as EmoDialogue's are (lines of one rendition, then four voiced replies of grades 1 to 4), so this split cannot leave in that form. Choose another format."
            )
            % {"uid": row["dialogue_id"]},
            field="format",
        )
    return [*context, replies]


def _part(turn: dict[str, Any]) -> str:
    return "responder" if turn["speaker"] == "responder" else "user"


def _said(turn: dict[str, Any], variant: dict[str, Any]) -> dict[str, Any]:
    delivery = json.loads(variant["delivery"])
    how = {name: str(delivery[name]) for name in DELIVERY if delivery.get(name) not in (None, "")}
    return {
        "text": variant["text"],
        "audio": audio_name(variant),
        "gender": turn["gender"],
        "tone": variant["tone"],
        **how,
    }


def _reply(turn: dict[str, Any], variant: dict[str, Any]) -> dict[str, Any]:
    return {
        "grade": variant["intended_grade"],
        "rationale": variant["rationale"],
        "human_grades": variant["grades"],
        "human_median": variant["median_grade"],
        **_said(turn, variant),
    }


def _beyond(turn: dict[str, Any]) -> dict[str, Any]:
    variants = [
        {"label": v["label"], "delivery": json.loads(v["delivery"]), "tone": v["tone"], "rationale": v["rationale"]}
        for v in turn["variants"]
    ]
    kept = {key: turn[key] for key in ("position", "speaker", "speaker_name", "gender", "voice")}
    return {**kept, "variants": variants}
