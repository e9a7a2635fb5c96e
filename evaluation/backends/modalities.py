"""Three ways to put a question to a model: with its sound, with its words only, with silence of the same length."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import ClassVar

import numpy as np
import soundfile

from evaluation.backends.base import ClipAudio, Evaluator

SILENCE_RATE = 16_000


class Mcq(Evaluator):
    """Audio in, as a person hears it."""

    alias: ClassVar = "mcq"

    def audio(self, clip: ClipAudio) -> ClipAudio | None:
        return clip


class TextOnly(Evaluator):
    """No audio: what can be known from the words alone."""

    alias: ClassVar = "text"

    def audio(self, clip: ClipAudio) -> ClipAudio | None:  # noqa: ARG002 -- it does not listen
        return None


class Silence(Evaluator):
    """Silence in place of every clip: a respondent that answers the same has not listened."""

    alias: ClassVar = "silence"

    def audio(self, clip: ClipAudio) -> ClipAudio | None:
        return replace(clip, media_type="audio/wav", loudness=None, pitch=None, read=lambda: silence_wav(clip.duration))


def silence_wav(seconds: float) -> bytes:
    buffer = io.BytesIO()
    samples = np.zeros(max(1, int(seconds * SILENCE_RATE)), dtype=np.int16)
    soundfile.write(buffer, samples, SILENCE_RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
