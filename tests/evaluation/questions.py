"""Questions and clips without a database, for tests of backends and evaluators."""

from __future__ import annotations

from typing import Any

from eqstudio.benchmarks.base import Option, Segment, Trial, TrialKind
from eqstudio.settings_models import ExamModel
from evaluation.backends import backends, evaluators
from evaluation.backends.base import Backend, ClipAudio, Exam
from tests.generation.factories import wav_bytes

CHOICE = Trial(
    key="s4",
    kind=TrialKind.CHOICE,
    category="interpersonal_empathy",
    language="en",
    question="Which rendition answers better?",
    scenario="After work",
    context=(Segment("Maya", variant="c1"), Segment("Tom", text="Hm.")),
    options=(Option("A", variant="v1"), Option("B", variant="v2")),
)
GRADE = Trial(
    key="grade-v1",
    kind=TrialKind.GRADE,
    category="",
    language="zh",
    question="评分",
    options=(Option("A", variant="v1"),),
    scale=(1, 4),
)
REPLY = Trial(
    key="reply", kind=TrialKind.REPLY, category="", language="en", question="Reply.", context=(Segment("S", "c1"),)
)
SECONDS = {"c1": 0.3, "v1": 0.2, "v2": 0.4, "other": 0.7}


def clips(uid: str, media_type: str = "audio/wav") -> ClipAudio:
    data = wav_bytes(seconds=SECONDS[uid])
    other = None if uid == "other" else lambda: clips("other")
    return ClipAudio(uid, f"words of {uid}", media_type, SECONDS[uid], -20.0, 200.0, lambda: data, other)


def configured(settings: Any, **entry: Any) -> type[Backend]:
    """The kind behind the alias ``mine`` with these settings."""
    settings.EXAM_MODELS = {"mine": ExamModel.model_validate(entry)}
    return backends.get("mine")


def seated(kind: type[Backend], evaluator: str = "mcq", seed: int = 1) -> Backend:
    instructions = {"en": "Listen and choose.", "zh": "请听并选择。"}
    return kind(Exam(instructions, seed), evaluators.get(evaluator)())
