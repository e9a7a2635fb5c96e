"""Sounds for tests: tones, something like speech, and planted defects."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import soundfile

Samples = npt.NDArray[np.float64]
RATE = 16_000


def tone(hz: float = 220.0, *, seconds: float = 1.0, rate: int = RATE, level: float = 0.3) -> Samples:
    """A sine."""
    return level * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)


def speechlike(
    *, hz: float = 150.0, seconds: float = 2.0, rate: int = RATE, spread: float = 2.0, level: float = 0.1, seed: int = 0
) -> Samples:
    """Syllables of harmonics with a wandering pitch, with quiet at both ends."""
    rng = np.random.default_rng(seed)
    body = round(max(0.2, seconds - 0.2) * rate)
    count = max(1, round(body / rate / 0.2))
    glide = np.interp(np.linspace(0, count, body), np.arange(count + 1), rng.normal(0, spread, count + 1))
    phase = 2 * np.pi * np.cumsum(hz * 2 ** (glide / 12)) / rate
    voice = sum(np.sin(k * phase) / k for k in range(1, 9))
    envelope = np.abs(np.sin(np.pi * np.linspace(0, count, body))) ** 0.5
    sound = np.asarray(voice * envelope)
    edge = np.zeros(round(0.1 * rate))
    return np.concatenate([edge, level * sound / np.abs(sound).max(), edge])


def silence(*, seconds: float = 1.0, rate: int = RATE) -> Samples:
    return np.zeros(round(seconds * rate))


def clipped(samples: Samples, *, gain_db: float = 40.0) -> Samples:
    """Driven far past full scale and cut off there."""
    return np.clip(samples * 10 ** (gain_db / 20), -1.0, 1.0)


def cut_off(samples: Samples, *, keep: float = 0.8) -> Samples:
    """Without its end, in the middle of a sound."""
    return samples[: round(keep * samples.size)]


def encoded(
    samples: Samples,
    *,
    rate: int = RATE,
    format: str = "WAV",  # noqa: A002
    subtype: str | None = None,
    endian: str | None = None,
) -> bytes:
    """A file in any format libsndfile writes."""
    buffer = io.BytesIO()
    kind: dict[str, Any] = {key: value for key, value in (("subtype", subtype), ("endian", endian)) if value}
    soundfile.write(buffer, samples, rate, format=format, **kind)
    return buffer.getvalue()


def wav(samples: Samples, *, rate: int = RATE) -> bytes:
    """A 16-bit WAV."""
    return encoded(samples, rate=rate, subtype="PCM_16")


def m4a(samples: Samples, *, rate: int = RATE, container: str = "mp4", codec: str = "aac") -> bytes:
    """A file that libsndfile cannot read, written with FFmpeg's libraries."""
    import av

    buffer = io.BytesIO()
    with av.open(buffer, "w", format=container) as output:
        stream = output.add_stream(codec, rate=rate)
        stream.layout = "mono"
        frame = av.AudioFrame.from_ndarray(samples.astype(np.float32)[None, :], format="fltp", layout="mono")
        frame.sample_rate = rate
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            output.mux(packet)
    return buffer.getvalue()
