"""What the scripts of all benchmarks share: strict models, the words of a delivery, and the numbers made from them.

Every model forbids unknown fields, requires all of its own and bounds every string and list: the same class is the
JSON schema for a small local model and the strict schema of a large one.
"""

from __future__ import annotations

import re
import zlib
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from eqstudio.benchmarks.base import Delivery
from eqstudio.benchmarks.texts import texts_load

Gender = Literal["female", "male"]
Pace = Literal["slow", "normal", "fast"]
Level = Literal["low", "normal", "high"]
Melody = Literal["flat", "normal", "lively"]

NameText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40)]
TitleText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]
LineText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=180)]
NoteText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=240)]

PITCH = {"low": -1.8, "normal": 0.0, "high": 1.8}
RATE = {"slow": 0.84, "normal": 1.0, "fast": 1.18}
RANGE = {"flat": 0.45, "normal": 1.0, "lively": 1.4}
VOLUME = {"low": -3.0, "normal": 0.0, "high": 3.0}
TONAL_RANGE = 0.6
"""Below this factor Mandarin loses its lexical tones."""


class ScriptPart(BaseModel):
    """Base of every part of a script."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tone(ScriptPart):
    """How a line is spoken: a direction in words, and the three things a voice without words can follow."""

    instruction: Annotated[NoteText, Field(description="Concrete direction for pace, pitch, breath and pauses.")]
    pace: Pace
    pitch: Level
    melody: Melody


def pitch_range_safe(factor: float, language: str) -> float:
    """``factor``, but never so flat that a Mandarin word becomes another one."""
    return max(factor, TONAL_RANGE) if language == "zh" else factor


def tone_delivery(tone: Tone, language: str, volume: float = 0.0) -> Delivery:
    """The delivery a tone describes. The instruction says pace, pitch and melody too, so that all voices are told the same."""
    words = texts_load("texts")["tone"][language]
    return Delivery(
        instruction=words["whole"].format(
            direction=tone.instruction,
            pace=words["pace"][tone.pace],
            pitch=words["pitch"][tone.pitch],
            melody=words["melody"][tone.melody],
        ),
        pitch=PITCH[tone.pitch],
        pitch_range=pitch_range_safe(RANGE[tone.melody], language),
        rate=RATE[tone.pace],
        volume=volume,
    )


def coin(text: str) -> int:
    """+1 or -1 by the text alone: what must not depend on a label is drawn from this."""
    return 1 if zlib.crc32(text.encode()) & 1 else -1


def slug(text: str, limit: int = 80) -> str:
    """Lower case, every run of other characters one underscore; Chinese characters stay."""
    return re.sub(r"[\W_]+", "_", text.casefold()).strip("_")[:limit]


def same_words(first: str, second: str) -> bool:
    """Whether two texts differ only in case, spaces and punctuation."""
    return slug(first, limit=1000) == slug(second, limit=1000)
