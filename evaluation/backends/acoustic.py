"""Respondents that hear one measure and nothing else: how far a cue alone gets."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from eqstudio.benchmarks.base import Trial
from evaluation.backends.base import Answer, Backend, ClipAudio, Clips
from evaluation.backends.blind import BATCH, answer_of


class AcousticBackend(Backend):
    """Picks the option whose clip has the lowest cue; the first of equals."""

    batch_size: ClassVar = BATCH

    @abstractmethod
    def cue(self, clip: ClipAudio) -> float | None:
        """The measure, lower is chosen; None where it could not be taken."""

    def answer(self, trial: Trial, clips: Clips) -> Answer:
        cues = [(option.letter, self.cue(clips(option.variant))) for option in trial.options if option.variant]
        known = [(letter, cue) for letter, cue in cues if cue is not None]
        if not known or len(known) < len(trial.options):
            return Answer(raw="", failure="refused", error="There are no clips to choose between by this measure.")
        return answer_of(min(known, key=lambda pair: pair[1])[0])


class QuieterBackend(AcousticBackend):
    alias: ClassVar = "rule-quieter"

    def cue(self, clip: ClipAudio) -> float | None:
        return clip.loudness


class LongerBackend(AcousticBackend):
    alias: ClassVar = "rule-longer"

    def cue(self, clip: ClipAudio) -> float | None:
        return -clip.duration


class LowerBackend(AcousticBackend):
    alias: ClassVar = "rule-lower"

    def cue(self, clip: ClipAudio) -> float | None:
        return clip.pitch
