"""The plainest of sound files read without a decoder: a WAV of 16-bit samples with nothing else in it.

It is what speech endpoints send. There is nothing to unpack: the samples are the bytes behind a header of fixed length, so
nothing that a stranger wrote can lead a reader astray. Any other file is for the decoder process.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_HEAD = struct.Struct("<4sI4s4sIHHIIHH4sI")
_PCM, _BITS = 1, 16
_CHANNELS = (1, 2)
_RATES = (1_000, 384_000)


class PlainWav(NamedTuple):
    samples: npt.NDArray[np.float32]
    """Frames by channels, full scale being 1."""
    rate: int


def plain_wav(data: bytes, *, longest_s: float) -> PlainWav | None:
    """The sound of ``data``, exactly as a decoder gives it; None for a file that is in any way not such a WAV, or longer."""
    if len(data) <= _HEAD.size:
        return None
    riff, riff_size, wave, fmt, fmt_size, kind, channels, rate, per_s, frame, bits, mark, size = _HEAD.unpack_from(data)
    if (riff, wave, fmt, fmt_size, kind, bits, mark) != (b"RIFF", b"WAVE", b"fmt ", 16, _PCM, _BITS, b"data"):
        return None
    width = channels * _BITS // 8
    told = (riff_size, size, frame, per_s)
    if channels not in _CHANNELS or told != (len(data) - 8, len(data) - _HEAD.size, width, rate * width):
        return None
    if not _RATES[0] <= rate <= _RATES[1] or size % width or size // width > longest_s * rate:
        return None
    whole = np.frombuffer(data, dtype="<i2", offset=_HEAD.size).reshape(-1, channels)
    return PlainWav(whole.astype(np.float32) / np.float32(1 << (_BITS - 1)), rate)
