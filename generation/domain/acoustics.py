"""What a clip sounds like, in numbers. Pure: samples in, figures out."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyloudnorm

if TYPE_CHECKING:
    import numpy.typing as npt

    Samples = npt.NDArray[np.float64]

FRAME_S = 0.040
HOP_S = 0.010
F0_MIN_HZ = 70.0
F0_MAX_HZ = 400.0
PITCH_RATE_HZ = 12_000
VOICING = 0.5
GATE_DB = 35.0
PEAK_SLICES = 400
LOUDNESS_BLOCK_S = 0.4
FLOOR_DB = -120.0
_CHUNK_FRAMES = 2048
_CLOSE_TO_BEST = 0.9
_QUIET = 1e-6

PAIR_SCALES = {
    "pitch_st": 4.0,
    "spread_st": 0.8,
    "rms_db": 2.4,
    "log2_duration": 0.23,
    "centroid_hz": 200.0,
    "pause_share": 0.05,
}
"""Typical differences between two good deliveries of the same line; they weigh the features of a pair alike."""


@dataclass(frozen=True)
class Measures:
    """Figures of a clip. None where the clip has nothing to measure (no voiced frame, digital silence, too short)."""

    frames: int
    sample_rate: int
    duration: float
    loudness: float | None
    """Integrated, LUFS."""
    peak: float
    """dBFS of the largest sample."""
    rms: float | None
    """dBFS over active frames."""
    pitch: float | None
    """Median F0 of voiced frames, Hz."""
    pitch_spread: float | None
    """Standard deviation of F0 over voiced frames, semitones."""
    centroid: float | None
    """Mean spectral centroid over active frames, Hz."""
    pause_share: float | None
    """Share of frames that are not active."""
    clipped_share: float
    """Share of samples at full scale in runs of three or more."""
    tail_db: float
    """Level of the last 50 ms relative to the loudest frame; near 0 when the end was cut off."""
    peaks: tuple[float, ...]
    """Largest magnitude in each of 400 slices, 0 to 1."""


@dataclass(frozen=True)
class PairDistance:
    """How far two deliveries lie apart: ``distance`` D, and the difference of each feature (first minus second)."""

    distance: float
    differences: dict[str, float]


def mono(samples: npt.NDArray[np.floating]) -> Samples:
    """One channel: the mean over channels."""
    array = np.asarray(samples, dtype=np.float64)
    return np.asarray(array.mean(axis=1) if array.ndim == 2 else array)  # noqa: PLR2004 -- frames by channels


def measure(samples: npt.NDArray[np.floating], rate: int) -> Measures:
    """Measure a clip given as frames (by channels). Needs at least one frame."""
    signal = mono(samples)
    frames = _framed(signal, rate)
    levels = np.sqrt(np.mean(frames**2, axis=1))
    active = _active(levels)
    f0 = _pitch_of(signal, rate, active)
    return Measures(
        frames=len(signal),
        sample_rate=rate,
        duration=len(signal) / rate,
        loudness=loudness(samples, rate),
        peak=_db(float(np.abs(samples).max())),
        rms=_db(float(np.sqrt(np.mean(levels[active] ** 2)))) if active.any() else None,
        pitch=float(np.median(f0)) if f0.size else None,
        pitch_spread=float(np.std(12 * np.log2(f0))) if f0.size else None,
        centroid=_centroid(frames[active], rate),
        pause_share=float(1 - active.mean()) if active.any() else None,
        clipped_share=_clipped_share(np.asarray(samples)),
        tail_db=_tail_db(signal, rate, float(levels.max())),
        peaks=_peaks(signal),
    )


def pair_distance(first: Measures, second: Measures) -> PairDistance:
    """The distance between two deliveries: root mean square of scaled feature differences (symmetric, zero for equals)."""
    differences = {
        "pitch_st": _semitones(first.pitch, second.pitch),
        "spread_st": (first.pitch_spread or 0.0) - (second.pitch_spread or 0.0),
        "rms_db": (first.rms if first.rms is not None else FLOOR_DB)
        - (second.rms if second.rms is not None else FLOOR_DB),
        "log2_duration": math.log2(first.duration / second.duration),
        "centroid_hz": (first.centroid or 0.0) - (second.centroid or 0.0),
        "pause_share": (first.pause_share if first.pause_share is not None else 1.0)
        - (second.pause_share if second.pause_share is not None else 1.0),
    }
    scaled = [(differences[name] / scale) ** 2 for name, scale in PAIR_SCALES.items()]
    return PairDistance(distance=math.sqrt(sum(scaled) / len(scaled)), differences=differences)


def _semitones(first: float | None, second: float | None) -> float:
    return 12 * math.log2(first / second) if first and second else 0.0


def _db(value: float) -> float:
    return max(FLOOR_DB, 20 * math.log10(value)) if value > 0 else FLOOR_DB


def _framed(signal: Samples, rate: int) -> Samples:
    """Overlapping frames as a view; a clip shorter than a frame is one frame padded with zeros."""
    length, hop = max(2, round(FRAME_S * rate)), max(1, round(HOP_S * rate))
    if signal.size < length:
        signal = np.pad(signal, (0, length - signal.size))
    return np.lib.stride_tricks.sliding_window_view(signal, length)[::hop]


def _active(levels: Samples) -> npt.NDArray[np.bool_]:
    gate = np.percentile(levels, 95) * 10 ** (-GATE_DB / 20)
    return (levels >= gate) & (levels > 10 ** (FLOOR_DB / 20))


def _pitch_of(signal: Samples, rate: int, active: npt.NDArray[np.bool_]) -> Samples:
    """F0 of the active frames, on a signal thinned to 12 kHz or a little more: pitch needs no treble."""
    step = max(1, rate // PITCH_RATE_HZ)
    thin = signal[: signal.size // step * step].reshape(-1, step).mean(axis=1) if signal.size >= step else signal
    frames = _framed(thin, rate // step)
    shared = min(len(frames), active.size)
    return _pitch_track(frames[:shared][active[:shared]], rate / step)


def _pitch_track(frames: Samples, rate: float) -> Samples:
    """F0 of the voiced frames among ``frames``, by normalised autocorrelation through the FFT, in chunks of bounded memory."""
    found = [_pitch_chunk(frames[at : at + _CHUNK_FRAMES], rate) for at in range(0, len(frames), _CHUNK_FRAMES)]
    return np.concatenate(found) if found else np.zeros(0)


def _pitch_chunk(frames: Samples, rate: float) -> Samples:
    length = frames.shape[1]
    shortest, longest = max(1, math.floor(rate / F0_MAX_HZ)), min(length - 2, math.ceil(rate / F0_MIN_HZ))
    if longest <= shortest:
        return np.zeros(0)
    signal = frames - frames.mean(axis=1, keepdims=True)
    correlation = _autocorrelation(signal, 1 << (2 * length - 1).bit_length(), longest + 2)
    # Each lag is normalised by the energy of the two stretches it compares, so that a swelling sound has no octave below.
    energy = np.cumsum(signal**2, axis=1)
    lagged = np.arange(longest + 2)
    heads, tails = energy[:, length - 1 - lagged], energy[:, -1:] - np.where(lagged, energy[:, lagged - 1], 0.0)
    scale = np.sqrt(heads * np.maximum(tails, 0.0))
    normal = np.divide(correlation, scale, out=np.zeros_like(correlation), where=scale > _QUIET * energy[:, -1:])
    lags = normal[:, shortest - 1 : longest + 2] if shortest > 1 else normal[:, shortest : longest + 2]
    first = shortest - 1 if shortest > 1 else shortest
    return _refine(lags, first, rate)


def _autocorrelation(frames: Samples, size: int, lags: int) -> Samples:
    return np.asarray(np.fft.irfft(np.abs(np.fft.rfft(frames, size)) ** 2, size)[:, :lags])


def _refine(lags: Samples, first: int, rate: float) -> Samples:
    """Fit a parabola to every local maximum, then take the earliest top close to the best one (no octave below)."""
    left, middle, right = lags[:, :-2], lags[:, 1:-1], lags[:, 2:]
    is_peak = (middle >= left) & (middle > right)
    curve = left - 2 * middle + right
    shift = np.divide(0.5 * (left - right), curve, out=np.zeros_like(curve), where=is_peak & (curve < 0))
    tops = np.where(is_peak, middle - 0.25 * (left - right) * shift, -1.0)
    best = tops.max(axis=1, initial=-1.0)
    rows = np.flatnonzero(best > VOICING)
    at = (tops[rows] >= _CLOSE_TO_BEST * best[rows, None]).argmax(axis=1)
    f0 = rate / (first + 1 + at + shift[rows, at])
    return np.asarray(f0[(f0 >= F0_MIN_HZ) & (f0 <= F0_MAX_HZ)])


def _centroid(frames: Samples, rate: int) -> float | None:
    if not len(frames):
        return None
    bins = np.fft.rfftfreq(frames.shape[1], 1 / rate)
    window = np.hanning(frames.shape[1])
    means = []
    for at in range(0, len(frames), _CHUNK_FRAMES):
        spectrum = np.abs(np.fft.rfft(frames[at : at + _CHUNK_FRAMES] * window, axis=1))
        total = spectrum.sum(axis=1)
        means.append((spectrum @ bins)[total > 0] / total[total > 0])
    values = np.concatenate(means)
    return float(values.mean()) if values.size else None


def loudness(samples: npt.NDArray[np.floating], rate: int) -> float | None:
    """Integrated loudness; a clip shorter than one gating block is repeated until it fills one."""
    array = np.asarray(samples, dtype=np.float64)
    if array.ndim == 2 and array.shape[1] > 5:  # noqa: PLR2004 -- the standard knows five channels
        array = mono(array)
    needed = math.ceil(LOUDNESS_BLOCK_S * rate) + 1
    if len(array) < needed:
        array = np.concatenate([array] * math.ceil(needed / len(array)))
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        value = float(pyloudnorm.Meter(rate).integrated_loudness(array))
    return value if math.isfinite(value) else None


def _clipped_share(samples: npt.NDArray[np.floating]) -> float:
    """Samples in runs of three or more at one rail, over all samples; a lone full-scale peak is not clipping."""
    array = samples if samples.ndim == 2 else samples[:, None]  # noqa: PLR2004 -- frames by channels
    top = np.abs(array).max(initial=0.0)
    if top < 0.5:  # noqa: PLR2004 -- a rail below -6 dBFS is not seen in practice; quiet square waves are no clipping
        return 0.0
    rail = np.abs(array) >= top * 0.9995
    inside = rail[:-2] & rail[1:-1] & rail[2:] if len(rail) > 2 else np.zeros((0, array.shape[1]), dtype=bool)  # noqa: PLR2004
    run = np.zeros_like(rail)
    for offset in range(3):
        run[offset : offset + len(inside)] |= inside
    return float(run.mean())


def _tail_db(signal: Samples, rate: int, loudest: float) -> float:
    tail = signal[-max(1, round(0.05 * rate)) :]
    if loudest <= 0:
        return FLOOR_DB
    return _db(float(np.sqrt(np.mean(tail**2))) / loudest)


def _peaks(signal: Samples) -> tuple[float, ...]:
    edges = np.linspace(0, signal.size, PEAK_SLICES + 1).astype(int)[:-1]
    starts = np.minimum(edges, signal.size - 1)
    slices = np.maximum.reduceat(np.abs(signal), starts)
    return tuple(round(min(1.0, float(value)), 3) for value in slices)
