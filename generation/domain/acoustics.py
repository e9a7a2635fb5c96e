"""What a clip sounds like, in numbers. Pure: samples in, figures out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.fft import dct, irfft, next_fast_len, rfft

from generation.domain.loudness import loudness

if TYPE_CHECKING:
    import numpy.typing as npt

    Samples = npt.NDArray[np.float64]
    Floats = npt.NDArray[np.floating]

FRAME_S = 0.040
HOP_S = 0.010
_SPARSE = 2
"""Pitch and brightness are looked at on every second frame: they change slowly, and the transforms are what costs."""
F0_MIN_HZ = 70.0
F0_MAX_HZ = 400.0
PITCH_RATE_HZ = 12_000
VOICING = 0.5
GATE_DB = 35.0
PEAK_SLICES = 400
PEAK_SECONDS = 0.04
"""A slice is no longer than this, so that what is seen lies where it is heard however long a clip is."""
FLOOR_DB = -120.0
BANDS = 32
BAND_MIN_HZ = 80.0
BAND_MAX_HZ = 7_500.0
TIMBRE = slice(3, 13)
"""Of the cosine transform of the log bands: what is below follows loudness and mood, what is above is noise."""
_BAND_FLOOR = 1e-7
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
    level: float
    """dBFS over all samples."""
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
    timbre: tuple[float, ...] | None
    """Shape of the mean spectrum, without its level and its slope: what stays of a voice when its mood changes."""


@dataclass(frozen=True)
class PairDistance:
    """How far two deliveries lie apart: ``distance`` D, and the difference of each feature (first minus second)."""

    distance: float
    differences: dict[str, float]


def mono(samples: npt.NDArray[np.floating]) -> Samples:
    """One channel: the mean over channels."""
    array = np.asarray(samples)
    if array.ndim == 2 and array.shape[1] == 1:  # noqa: PLR2004 -- frames by channels
        array = array[:, 0]
    array = array.astype(np.float64)
    return np.asarray(array.mean(axis=1) if array.ndim == 2 else array)  # noqa: PLR2004 -- frames by channels


def measure(samples: npt.NDArray[np.floating], rate: int) -> Measures:
    """Measure a clip given as frames (by channels). Needs at least one frame."""
    signal = mono(samples)
    frames = _framed(signal, rate)
    levels = _levels(signal, frames)
    active = _active(levels)
    f0 = _pitch_of(signal, rate, active)
    colour = _colour(frames, active, rate)
    return Measures(
        frames=len(signal),
        sample_rate=rate,
        duration=len(signal) / rate,
        loudness=loudness(samples, rate),
        peak=_db(float(np.abs(samples).max())),
        rms=_db(float(np.sqrt(np.mean(levels[active] ** 2)))) if active.any() else None,
        level=level(signal),
        pitch=float(np.median(f0)) if f0.size else None,
        pitch_spread=float(np.std(12 * np.log2(f0))) if f0.size else None,
        centroid=colour.centroid if colour else None,
        pause_share=float(1 - active.mean()) if active.any() else None,
        clipped_share=_clipped_share(np.asarray(samples)),
        tail_db=_tail_db(signal, rate, float(levels.max())),
        peaks=_peaks(signal, rate),
        timbre=colour.timbre if colour else None,
    )


def level(samples: npt.NDArray[np.floating]) -> float:
    """RMS over all samples, dBFS."""
    return _db(float(np.sqrt(np.mean(mono(samples) ** 2))))


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


def _levels(signal: Samples, frames: Samples) -> Samples:
    """The level of every frame, from one running sum over the signal instead of one sum per frame."""
    if len(frames) == 1:
        return np.asarray(np.sqrt(np.mean(frames**2, axis=1)))
    length, hop = frames.shape[1], frames.strides[0] // signal.itemsize
    energy = np.concatenate(([0.0], np.cumsum(signal * signal)))
    starts = np.arange(len(frames)) * hop
    return np.asarray(np.sqrt(np.maximum(energy[starts + length] - energy[starts], 0.0) / length))


def _active(levels: Samples) -> npt.NDArray[np.bool_]:
    gate = np.percentile(levels, 95) * 10 ** (-GATE_DB / 20)
    return (levels >= gate) & (levels > 10 ** (FLOOR_DB / 20))


def _pitch_of(signal: Samples, rate: int, active: npt.NDArray[np.bool_]) -> Samples:
    """F0 of the active frames, on a signal thinned to 12 kHz or a little more: pitch needs no treble."""
    step = max(1, rate // PITCH_RATE_HZ)
    thin = signal[: signal.size // step * step].reshape(-1, step).mean(axis=1) if signal.size >= step else signal
    loudest = float(np.abs(thin).max(initial=0.0))
    if loudest <= 0:
        return np.zeros(0)
    # Floats precision does: the signal is brought to full scale, and a lag needs three digits.
    frames = _framed(np.asarray(thin / loudest, dtype=np.float32), rate // step)
    shared = min(len(frames), active.size)
    return _pitch_track(frames[:shared], np.flatnonzero(active[:shared])[::_SPARSE], rate / step)


def _pitch_track(frames: Floats, rows: npt.NDArray[np.intp], rate: float) -> Samples:
    """F0 of the voiced frames among ``rows``, by normalised autocorrelation through the FFT, in chunks of bounded memory."""
    found = [_pitch_chunk(frames[rows[at : at + _CHUNK_FRAMES]], rate) for at in range(0, len(rows), _CHUNK_FRAMES)]
    return np.concatenate(found) if found else np.zeros(0)


def _pitch_chunk(frames: Floats, rate: float) -> Samples:
    length = frames.shape[1]
    shortest, longest = max(1, math.floor(rate / F0_MAX_HZ)), min(length - 2, math.ceil(rate / F0_MIN_HZ))
    if longest <= shortest:
        return np.zeros(0)
    signal = frames - frames.mean(axis=1, keepdims=True)
    first, behind = max(1, shortest - 1), longest + 2
    correlation = _autocorrelation(signal, behind)[:, first:behind]
    # Each lag is normalised by the energy of the two stretches it compares, so that a swelling sound has no octave below.
    energy = np.cumsum(signal * signal, axis=1)
    total = energy[:, -1:]
    heads = energy[:, length - behind : length - first][:, ::-1]
    tails = total - energy[:, first - 1 : behind - 1]
    scale = np.sqrt(np.maximum(heads * tails, 0.0))
    lags = np.divide(correlation, scale, out=np.zeros_like(correlation), where=scale > _QUIET * total)
    return _refine(lags, first, rate)


def _autocorrelation(frames: Floats, lags: int) -> Floats:
    """The first ``lags`` lags; padded by that much, so that the end of a frame does not meet its beginning."""
    size = next_fast_len(frames.shape[1] + lags, real=True)
    spectrum = rfft(frames, size, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    return np.asarray(irfft(power, size, axis=1)[:, :lags])


def _refine(lags: Floats, first: int, rate: float) -> Samples:
    """The earliest local maximum close to the best one (no octave below), made finer by a parabola through its neighbours."""
    left, middle, right = lags[:, :-2], lags[:, 1:-1], lags[:, 2:]
    is_peak = (middle >= left) & (middle > right)
    heights = np.where(is_peak, middle, -1.0)
    rows = np.flatnonzero(heights.max(axis=1, initial=-1.0) > VOICING)
    if not rows.size:
        return np.zeros(0)
    heights = heights[rows]
    at = (heights >= _CLOSE_TO_BEST * heights.max(axis=1, keepdims=True)).argmax(axis=1)
    before, top, after = (part[rows, at].astype(np.float64) for part in (left, middle, right))
    curve = before - 2 * top + after
    shift = np.divide(0.5 * (before - after), curve, out=np.zeros_like(curve), where=curve < 0)
    f0 = rate / (first + 1 + at + shift)
    return np.asarray(f0[(f0 >= F0_MIN_HZ) & (f0 <= F0_MAX_HZ)])


class _Colour(NamedTuple):
    centroid: float
    timbre: tuple[float, ...]


def _colour(frames: Samples, active: npt.NDArray[np.bool_], rate: int) -> _Colour | None:
    """Brightness and timbre of the active frames, from one transform; None when there is nothing to look at."""
    rows = np.flatnonzero(active)[::_SPARSE]
    if not rows.size:
        return None
    length = frames.shape[1]
    bins = np.fft.rfftfreq(length, 1 / rate).astype(np.float32)
    bands = _bands(length, rate)
    window = np.hanning(length).astype(np.float32)
    loudest = float(max(frames.max(), -frames.min()))
    means, shapes = [], []
    for at in range(0, len(rows), _CHUNK_FRAMES):
        chunk = np.asarray(frames[rows[at : at + _CHUNK_FRAMES]] / loudest, dtype=np.float32) * window
        spectrum = rfft(chunk, axis=1)
        power = spectrum.real**2 + spectrum.imag**2
        weight = np.sqrt(power)
        total = weight.sum(axis=1)
        means.append((weight * bins).sum(axis=1)[total > 0] / total[total > 0])
        shapes.append(10 * np.log10(bands.sums(power) + _BAND_FLOOR))
    values = np.concatenate(means)
    if not values.size:
        return None
    shape = dct(np.concatenate(shapes).mean(axis=0, dtype=np.float64), norm="ortho")[TIMBRE]
    return _Colour(float(values.mean(dtype=np.float64)), tuple(round(float(value), 3) for value in shape))


class _Bands(NamedTuple):
    """Triangles, evenly spaced in mel, that sum a spectrum into bands; the same ones whatever the rate of the clip.

    They overlap by half, so every bin gives a part to the band that begins before it and the rest to the one before that.
    Sums of stretches, not a product of matrices: for one of this size a library would wake a thread on every core.
    """

    bins: slice
    """Those that lie in a band at all."""
    rising: Floats
    """The part of each bin that goes to the later of its two bands."""
    starts: npt.NDArray[np.intp]
    """Where each stretch between two edges begins."""
    filled: npt.NDArray[np.bool_]
    """Which stretches hold a bin."""

    def sums(self, power: Floats) -> Floats:
        """The bands of each row of ``power``."""
        inside = power[:, self.bins]
        stretches = np.zeros((2, len(power), len(self.filled)), dtype=power.dtype)
        rising = inside * self.rising
        for number, part in enumerate((rising, inside - rising)):
            stretches[number][:, self.filled] = np.add.reduceat(part, self.starts, axis=1)
        return np.asarray(stretches[0][:, :-1] + stretches[1][:, 1:])


@lru_cache(maxsize=16)
def _bands(length: int, rate: int) -> _Bands:
    edges = np.linspace(_mel(np.float64(BAND_MIN_HZ)), _mel(np.float64(BAND_MAX_HZ)), BANDS + 2)
    at = _mel(np.fft.rfftfreq(length, 1 / rate))
    within = np.flatnonzero((at >= edges[0]) & (at < edges[-1]))
    place = (at[within] - edges[0]) / (edges[1] - edges[0])
    stretch = np.minimum(place.astype(int), BANDS)
    held, starts = np.unique(stretch, return_index=True)
    filled = np.zeros(BANDS + 1, dtype=bool)
    filled[held] = True
    bins = slice(int(within[0]), int(within[-1]) + 1) if within.size else slice(0, 0)
    return _Bands(bins, np.asarray(place - stretch, dtype=np.float32), starts, filled)


def _mel(hz: Any) -> Any:
    return 2595 * np.log10(1 + hz / 700)


def _clipped_share(samples: npt.NDArray[np.floating]) -> float:
    """Samples in runs of three or more at one rail, over all samples; a lone full-scale peak is not clipping."""
    array = samples if samples.ndim == 2 else samples[:, None]  # noqa: PLR2004 -- frames by channels
    top = np.abs(array).max(initial=0.0)
    if top < 0.5:  # noqa: PLR2004 -- a rail below -6 dBFS is not seen in practice; quiet square waves are no clipping
        return 0.0
    rail = np.abs(array) >= top * 0.9995
    if np.count_nonzero(rail) < 3 or len(rail) < 3:  # noqa: PLR2004 -- too few for one run
        return 0.0
    inside = rail[:-2] & rail[1:-1] & rail[2:]
    run = np.zeros_like(rail)
    for offset in range(3):
        run[offset : offset + len(inside)] |= inside
    return float(run.mean())


def _tail_db(signal: Samples, rate: int, loudest: float) -> float:
    tail = signal[-max(1, round(0.05 * rate)) :]
    if loudest <= 0:
        return FLOOR_DB
    return _db(float(np.sqrt(np.mean(tail**2))) / loudest)


def _peaks(signal: Samples, rate: int) -> tuple[float, ...]:
    count = max(PEAK_SLICES, math.ceil(signal.size / rate / PEAK_SECONDS))
    edges = np.linspace(0, signal.size, count + 1).astype(int)[:-1]
    starts = np.minimum(edges, signal.size - 1)
    slices = np.maximum.reduceat(np.abs(signal), starts)
    return tuple(np.round(np.minimum(slices, 1.0), 3).tolist())
