"""One dialogue of a split as plain data, with its audio and what people said about it under aliases."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from django.utils.translation import gettext as _

from annotation.models import Grade, Split, SplitItem
from annotation.selectors import live_judgements
from eqstudio.blobs import blob_read
from eqstudio.errors import InvalidInput
from generation.models import Clip, Dialogue, Turn, Variant

EXTENSIONS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/mpeg": "mp3",
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/ogg": "ogg",
    "audio/mp4": "m4a",
    "audio/aac": "aac",
    "audio/webm": "webm",
    "audio/aiff": "aiff",
    "audio/basic": "au",
    "audio/x-caf": "caf",
    "audio/x-w64": "w64",
}


@dataclass
class Judged:
    """What people said: by dialogue their verdicts, by variant their grades. Raters bear aliases, never names."""

    outcomes: dict[int, str] = field(default_factory=dict)
    verdicts: dict[int, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    grades: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))


def judged_of(split: Split) -> Judged:
    """The judgements behind a split; empty when it was frozen from a corpus."""
    found = Judged()
    if split.round is None:
        return found
    live = live_judgements(round=split.round).order_by("pk")
    aliases: dict[int, str] = {}
    for person, dialogue, verdict, reasons in live.values_list(
        "annotator_id", "item__dialogue_id", "verdict", "reasons"
    ):
        alias = aliases.setdefault(person, f"rater-{len(aliases) + 1:02d}")
        found.verdicts[dialogue].append({"rater": alias, "verdict": verdict, "reasons": reasons})
    grades = Grade.objects.filter(judgement__in=live).order_by("judgement_id", "pk")
    for variant, value in grades.values_list("variant_id", "value"):
        found.grades[variant].append(value)
    found.outcomes = dict(split.round.items.values_list("dialogue_id", "outcome"))
    return found


def dialogue_row(item: SplitItem, judged: Judged) -> dict[str, Any]:
    """One row: everything about the dialogue, key included, with the original bytes of every clip."""
    dialogue = item.dialogue
    return {
        "dialogue_id": dialogue.uid,
        "external_id": dialogue.external_id,
        "benchmark": dialogue.benchmark,
        "category": dialogue.category,
        "language": dialogue.language,
        "source": dialogue.source,
        "valence": dialogue.valence,
        "title": dialogue.title,
        "scenario": json.dumps(dialogue.scenario, ensure_ascii=False, sort_keys=True),
        "extras": json.dumps(dialogue.extras, ensure_ascii=False, sort_keys=True),
        "template_key": dialogue.template_key,
        "topic_key": dialogue.topic_key,
        "outcome": judged.outcomes.get(dialogue.pk, ""),
        "turns": [_turn(dialogue, turn, judged) for turn in dialogue.turns.all()],
        "judgements": judged.verdicts.get(dialogue.pk, []),
    }


def _turn(dialogue: Dialogue, turn: Turn, judged: Judged) -> dict[str, Any]:
    return {
        "position": turn.position,
        "role": turn.role,
        "speaker": turn.speaker,
        "speaker_name": turn.speaker_name,
        "gender": turn.gender,
        "variants": [_variant(dialogue, turn, variant, judged) for variant in turn.variants.all()],
    }


def _variant(dialogue: Dialogue, turn: Turn, variant: Variant, judged: Judged) -> dict[str, Any]:
    clip = variant.clip
    grades = judged.grades.get(variant.pk, [])
    return {
        "variant_id": variant.uid,
        "label": variant.label,
        "text": variant.text,
        "tone": variant.tone,
        "intended_grade": variant.intended_grade,
        "audio": {"bytes": _bytes(dialogue, turn, clip), "path": file_name(clip)} if clip else None,
        "sha256": clip.sha256 if clip else None,
        "duration": clip.duration if clip else None,
        "loudness": clip.loudness if clip else None,
        "pitch": clip.pitch if clip else None,
        "grades": grades,
        "median_grade": float(median(grades)) if grades else None,
    }


def _bytes(dialogue: Dialogue, turn: Turn, clip: Clip) -> bytes:
    """The bytes as they were frozen. InvalidInput names the dialogue and the line where they are gone or other ones."""
    where = {"line": turn.position, "title": dialogue.title or dialogue.uid, "uid": dialogue.uid, "sha256": clip.sha256}
    try:
        data = blob_read(clip.sha256)
    except FileNotFoundError as error:
        raise InvalidInput(
            _(
                "The sound of line %(line)d of %(title)s (dialogue %(uid)s, file %(sha256)s) is gone from the storage, so the split cannot be exported. Bring the file back and export again."
            )
            % where
        ) from error
    if hashlib.sha256(data).hexdigest() != clip.sha256:
        raise InvalidInput(
            _(
                "The sound of line %(line)d of %(title)s (dialogue %(uid)s, file %(sha256)s) is no longer what was frozen, so the split cannot be exported. Bring the file back and export again."
            )
            % where
        )
    return data


def file_name(clip: Clip) -> str:
    """A name that says what the file holds and nothing about where it lay."""
    return f"{clip.sha256[:24]}.{EXTENSIONS.get(clip.media_type, 'bin')}"
