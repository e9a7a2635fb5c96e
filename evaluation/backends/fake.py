"""A respondent for development and tests: answers by a seeded whim, in words a model might use."""

from __future__ import annotations

from random import Random
from typing import Any, ClassVar

from eqstudio.benchmarks.base import Trial
from evaluation.backends.base import Answer, Backend, Clips, variants_in
from evaluation.backends.blind import possible_answers


class FakeBackend(Backend):
    """Asks for every clip it would have to hear, then answers; nothing leaves the machine."""

    alias: ClassVar = "fake"
    kind: ClassVar = "model"
    is_fake: ClassVar = True

    @property
    def model(self) -> str:
        return "fake"

    def parameters(self) -> dict[str, Any]:
        return {"style": "sentence"}

    def answer(self, trial: Trial, clips: Clips) -> Answer:
        heard = variants_in(trial)
        for variant in heard:
            clips(variant)
        rng = Random(f"{self.exam.seed}:{trial.key}:{trial.question}:{heard}")  # noqa: S311 -- a fake's whim
        possible = possible_answers(trial)
        words = f"ANSWER: {rng.choice(possible)}" if possible else "I hear you."
        return Answer(raw=words, paradata={"model": "fake", "clips": len(heard)})
