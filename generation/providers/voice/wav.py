"""Samples to WAV bytes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import soundfile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

PEAK_LIMIT = 0.891
"""-1 dBFS: room for the overshoot between samples."""


def wav_bytes(samples: npt.NDArray[np.floating], rate: int) -> bytes:
    """A 16-bit mono WAV. The same samples give the same bytes."""
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
