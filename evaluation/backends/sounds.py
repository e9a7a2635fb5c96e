"""Sound as models take it: WAV for those that want files, samples at 16 kHz for those that compute here."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
import soxr

if TYPE_CHECKING:
    from collections.abc import Sequence

MODEL_RATE = 16_000


def wav_of(data: bytes) -> bytes:
    """The same samples as 16-bit WAV."""
    samples, rate = soundfile.read(io.BytesIO(data), dtype="int16", always_2d=True)
    return _wav(samples, rate)


def wav_joined(sounds: Sequence[bytes], pause_s: float) -> bytes:
    """All sounds one after the other as 16-bit WAV at 16 kHz, with ``pause_s`` seconds of silence between them."""
    silence = np.zeros(int(pause_s * MODEL_RATE), dtype=np.float32)
    parts: list[Any] = []
    for sound in sounds:
        parts += [samples_of(sound), silence]
    return _wav(np.concatenate(parts[:-1]), MODEL_RATE)


def samples_of(data: bytes) -> Any:
    """One channel of 32-bit floats at 16 kHz."""
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    mono = samples.mean(axis=1)
    return mono if rate == MODEL_RATE else soxr.resample(mono, rate, MODEL_RATE).astype(np.float32)


def _wav(samples: Any, rate: int) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
