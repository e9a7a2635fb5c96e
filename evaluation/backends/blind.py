"""Respondents that do not listen: what guessing and a fixed habit give."""

from __future__ import annotations

import json
from random import Random
from typing import ClassVar

from eqstudio.benchmarks.base import Trial
from evaluation.backends.base import Answer, Backend, Clips, variants_in

BATCH = 64
"""Answering takes no time, so what a question costs is its share of storing a batch."""


def possible_answers(trial: Trial) -> list[str | int]:
    """Every answer a question admits; empty for free text."""
    if trial.scale is not None:
        return list(range(trial.scale[0], trial.scale[1] + 1))
    return [option.letter for option in trial.options]


def answer_of(value: str | int) -> Answer:
    return Answer(raw=json.dumps({"answer": value}))


class RandomBackend(Backend):
    """A fair guess on every question, seeded by the study and the question as shown."""

    alias: ClassVar = "random"
    batch_size: ClassVar = BATCH

    def answer(self, trial: Trial, clips: Clips) -> Answer:  # noqa: ARG002 -- it does not listen
        possible = possible_answers(trial)
        if not possible:
            return Answer(raw="", failure="refused", error="There is nothing to guess among.")
        rng = Random(f"{self.exam.seed}:{trial.key}:{trial.question}:{trial.options}:{variants_in(trial)}")  # noqa: S311 -- a guess, not a secret
        return answer_of(rng.choice(possible))


class FirstBackend(Backend):
    """Always the first slot, or the lowest grade."""

    alias: ClassVar = "first"
    batch_size: ClassVar = BATCH

    def answer(self, trial: Trial, clips: Clips) -> Answer:  # noqa: ARG002 -- it does not listen
        possible = possible_answers(trial)
        if not possible:
            return Answer(raw="", failure="refused", error="There is no first answer here.")
        return answer_of(possible[0])
