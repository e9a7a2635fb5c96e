"""Ways to put a question to a model: with its sound, with its words only; and the controls: with silence of the same length,
with the sound of another item, with the options in the opposite order.
"""

from __future__ import annotations

import io
from dataclasses import replace
from typing import ClassVar

import numpy as np
import soundfile

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import GiveUp, ProviderError
from evaluation.backends.base import ClipAudio, Evaluator
from evaluation.domain.order import trial_mirror

SILENCE_RATE = 16_000


class Mcq(Evaluator):
    """Audio in, as a person hears it."""

    alias: ClassVar = "mcq"

    def audio(self, clip: ClipAudio) -> ClipAudio | None:
        return clip


class TextOnly(Evaluator):
    """No audio: what can be known from the words alone."""

    alias: ClassVar = "text"
    control: ClassVar = True

    def audio(self, clip: ClipAudio) -> ClipAudio | None:  # noqa: ARG002 -- it does not listen
        return None


class Silence(Evaluator):
    """Silence in place of every clip: a respondent that answers the same has not listened."""

    alias: ClassVar = "silence"
    control: ClassVar = True

    def audio(self, clip: ClipAudio) -> ClipAudio | None:
        return replace(clip, media_type="audio/wav", loudness=None, pitch=None, read=lambda: silence_wav(clip.duration))


class Shuffled(Mcq):
    """The sound of another item in place of every clip, the same one each time: right answers are then chance."""

    alias: ClassVar = "shuffled"
    control: ClassVar = True
    elsewhere: ClassVar = True

    def audio(self, clip: ClipAudio) -> ClipAudio | None:
        other = clip.other() if clip.other else None
        if other is None:
            raise ProviderError(
                "There is no other item whose sound could be played instead: the split has one item of this language.",
                cause="nothing to shuffle",
                decision=GiveUp(),
            )
        return other


class Swapped(Mcq):
    """Every question with its options in the opposite order of the plain run: who listens chooses the same rendition."""

    alias: ClassVar = "swapped"
    control: ClassVar = True

    def trial(self, trial: Trial) -> Trial:
        return trial_mirror(trial)


def silence_wav(seconds: float) -> bytes:
    buffer = io.BytesIO()
    samples = np.zeros(max(1, int(seconds * SILENCE_RATE)), dtype=np.int16)
    soundfile.write(buffer, samples, SILENCE_RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
