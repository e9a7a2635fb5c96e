"""What a round asks beside grades and verdict: confidence, the feeling heard, naturalness, a comment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eqstudio.errors import InvalidInput

CONFIDENCE = (1, 2, 3, 4)
"""From guessing to certain."""

NATURALNESS = (1, 2, 3, 4, 5)
"""The five-point listening quality scale of ITU-T P.800: bad, poor, fair, good, excellent."""

EMOTIONS = ("neutral", "calm", "happy", "sad", "angry", "afraid", "surprised", "disgusted", "mixed", "unclear")
"""Ekman's six, rest, calm, and two ways out for a listener who hears several or none."""

OPTIONAL, REQUIRED, OFF = "optional", "required", "off"
COMMENT = (OPTIONAL, REQUIRED, OFF)


@dataclass(frozen=True)
class Questions:
    """Which questions a round asks; what is asked has to be answered, save a comment that is optional."""

    confidence: bool = False
    emotion: bool = False
    naturalness: bool = False
    comment: str = OPTIONAL

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Questions:
        """Read ``Round.questions``; InvalidInput names what is not known. ``{}`` asks nothing but an optional comment."""
        if set(raw) - set(cls.__dataclass_fields__):
            unknown = ", ".join(sorted(set(raw) - set(cls.__dataclass_fields__)))
            raise InvalidInput(f"Unknown question: {unknown}. Known: confidence, emotion, naturalness, comment.")
        for name in ("confidence", "emotion", "naturalness"):
            if not isinstance(raw.get(name, False), bool):
                raise InvalidInput(f"Say true or false for the question {name}.", field=name)
        if raw.get("comment", OPTIONAL) not in COMMENT:
            raise InvalidInput(f"A comment is one of {', '.join(COMMENT)}.", field="comment")
        return cls(**raw)

    @property
    def asked(self) -> dict[str, tuple[Any, ...]]:
        """Question to the values it takes, in the order of the page."""
        known = {"confidence": CONFIDENCE, "emotion": EMOTIONS, "naturalness": NATURALNESS}
        return {name: values for name, values in known.items() if getattr(self, name)}


def answers_wrong(answers: Mapping[str, Any], *, questions: Questions) -> str | None:
    """The first question whose answer is missing or none of its values, or one that was not asked; None when all is well."""
    asked = questions.asked
    for name, values in asked.items():
        given = answers.get(name)
        if isinstance(given, bool) or given not in values:
            return name
    return next((name for name in answers if name not in asked), None)
