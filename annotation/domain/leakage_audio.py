"""Recordings that are the same although their bytes are not: re-encoded, made louder, resampled, padded or trimmed.

Two measures. A short clip is a picture: 32 mel bands by 64 moments of its whole heard length, in decibels, with the mean of
each band taken out, as a unit vector; copies lie at 0.85 to 1.00 of each other, another voice or other words far below. A
clip of three seconds or more is also a set of marks: pairs of peaks of its spectrum with the time between them (the landmarks
of Wang 2003), which survive trimming; a copy has many marks at one and the same shift. Measured figures are in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter

VERSION = 1
RATE = 8_000
"""Samples per second that both measures expect, mono: what every copy still has."""
SAME_SHAPE = 0.80
LONG_S = 3.0
SAME_MARKS = 0.06
"""Share of the shorter clip's marks that must agree on one shift. On 39 released clips copies cut by up to a half lie at 0.10 to
0.25, and any two other recordings at 0.018 or less."""
FEWEST_MARKS = 12

_FRAME, _HOP = 400, 80
_BANDS, _MOMENTS = 32, 64
_LOW_HZ, _HIGH_HZ = 100.0, 3_600.0
_FLOOR_DB = 45.0
_GATE_DB = 35.0
_MARK_FRAME, _MARK_HOP = 512, 128
_PEAKS_A_SECOND = 12
_REACH = 60
_FAN = 5
_SHIFTS = 1 << 20
_COMMON = 500
"""A mark that so many recordings have tells nothing."""

Floats = NDArray[np.float32]
Marks = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Print:
    """``shape`` is 32 x 64 values in -127..127, or empty for silence; ``marks`` are rows of (hash, frame)."""

    shape: NDArray[np.int8]
    marks: Marks

    def vector(self) -> Floats | None:
        """The shape as a unit vector."""
        if not self.shape.size:
            return None
        found = self.shape.astype(np.float32)
        length = float(np.linalg.norm(found))
        return found / length if length else None


def print_of(samples: Floats) -> Print:
    """Both measures of mono samples at 8 kHz; marks only of three seconds or more."""
    heard = _heard(samples)
    if heard.size < _FRAME * 2:
        return Print(np.zeros(0, dtype=np.int8), np.zeros((0, 2), dtype=np.uint32))
    marks = _marks(samples) if samples.size >= LONG_S * RATE else np.zeros((0, 2), dtype=np.uint32)
    return Print(_shape(heard), marks)


def _power(samples: Floats, frame: int, hop: int) -> NDArray[np.float64]:
    frames = np.lib.stride_tricks.sliding_window_view(samples, frame)[::hop]
    return np.asarray(np.abs(np.fft.rfft(frames * np.hanning(frame), axis=1)) ** 2)


def _heard(samples: Floats) -> Floats:
    """From the first to the last frame within 35 dB of the loud ones: padding is no difference."""
    if samples.size < _FRAME * 2:
        return samples[:0]
    frames = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::_HOP]
    level = 10 * np.log10(np.mean(frames.astype(np.float64) ** 2, axis=1) + 1e-12)
    loud = np.nonzero(level > max(np.percentile(level, 95) - _GATE_DB, -75.0))[0]
    return samples[loud[0] * _HOP : loud[-1] * _HOP + _FRAME] if loud.size else samples[:0]


def _shape(samples: Floats) -> NDArray[np.int8]:
    mel = 10 * np.log10(_power(samples, _FRAME, _HOP) @ _filters().T + 1e-10)
    mel = np.maximum(mel, mel.max() - _FLOOR_DB)
    edges = np.linspace(0, len(mel), _MOMENTS + 1)
    places = np.clip((edges[:-1] + edges[1:]) / 2 - 0.5, 0, len(mel) - 1)
    low = np.floor(places).astype(int)
    part = (places - low)[:, None]
    if len(mel) >= _MOMENTS:
        whole = edges.astype(int)
        picture = np.stack([mel[a : max(b, a + 1)].mean(axis=0) for a, b in pairwise(whole)])
    else:
        picture = mel[low] * (1 - part) + mel[np.minimum(low + 1, len(mel) - 1)] * part
    picture = picture - picture.mean(axis=0)
    most = np.abs(picture).max()
    return np.round(picture.T.ravel() / most * 127).astype(np.int8) if most > 0 else np.zeros(0, dtype=np.int8)


_FILTERS: list[NDArray[np.float64]] = []


def _filters() -> NDArray[np.float64]:
    """Triangles on the mel scale (2595 log10(1 + f / 700)), each of area one."""
    if not _FILTERS:
        low, high = (2595 * np.log10(1 + hz / 700) for hz in (_LOW_HZ, _HIGH_HZ))
        mel = np.linspace(low, high, _BANDS + 2)
        edges = 700 * (10 ** (mel / 2595) - 1)
        bins = np.fft.rfftfreq(_FRAME, 1 / RATE)
        rise = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
        fall = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
        found = np.maximum(0, np.minimum(rise, fall))
        _FILTERS.append(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-9))
    return _FILTERS[0]


def _marks(samples: Floats) -> Marks:
    """Hashes of pairs of peaks: band of the one, band of the other, frames between; with the frame of the first."""
    level = 10 * np.log10(_power(samples, _MARK_FRAME, _MARK_HOP)[:, 2:230] + 1e-12)
    peak = (level == maximum_filter(level, size=(7, 17))) & (level > level.max() - 50.0)
    frames, bands = np.nonzero(peak)
    second = frames * _MARK_HOP // RATE
    order = np.lexsort((-level[frames, bands], second))
    rank = np.arange(len(order)) - np.searchsorted(second[order], second[order])
    kept = np.sort(order[rank < _PEAKS_A_SECOND])
    frames, bands = frames[kept], bands[kept]
    found = []
    for place in range(len(frames)):
        ahead = 0
        for other in range(place + 1, len(frames)):
            gap = int(frames[other] - frames[place])
            if gap > _REACH or ahead >= _FAN:
                break
            if gap >= 1:
                found.append(((int(bands[place]) << 16) | (int(bands[other]) << 6) | gap, int(frames[place])))
                ahead += 1
    return np.array(found, dtype=np.uint32).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Alike:
    """Two recordings sound the same: by ``shape`` or by ``marks``, to ``score`` (0-1)."""

    here: str
    there: str
    by: str
    score: float


def alike_pairs(
    here: Mapping[str, Print],
    there: Mapping[str, Print] | None = None,
    *,
    block: int = 1_024,
    advance: Callable[[int], object] = lambda _rows: None,
) -> Iterator[Alike]:
    """Every pair of recordings that sound the same, across two sets or within one; a pair that both measures find comes once.

    ``advance`` hears of so many more recordings of ``here`` as one of the two measures has compared.
    """
    within = there is None
    others = here if there is None else there
    seen: set[tuple[str, str]] = set()
    for found in chain(_by_shape(here, others, block, advance), _by_marks(here, others, advance)):
        pair = (min(found.here, found.there), max(found.here, found.there)) if within else (found.here, found.there)
        if found.here != found.there and pair not in seen:
            seen.add(pair)
            yield found


def _shapes(prints: Mapping[str, Print]) -> tuple[list[str], NDArray[np.int8]]:
    names = [name for name, one in prints.items() if one.shape.size]
    empty = np.zeros((0, _BANDS * _MOMENTS), dtype=np.int8)
    return names, np.stack([prints[name].shape for name in names]) if names else empty


def _units(shapes: NDArray[np.int8]) -> Floats:
    found = shapes.astype(np.float32)
    return np.asarray(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9))


def _by_shape(
    here: Mapping[str, Print], there: Mapping[str, Print], block: int, advance: Callable[[int], object]
) -> Iterator[Alike]:
    """Block by block on both sides, so that only the 8-bit shapes are whole in memory."""
    names, mine = _shapes(here)
    other_names, theirs = (names, mine) if here is there else _shapes(there)
    for start in range(0, len(names), block):
        some = _units(mine[start : start + block])
        for other in range(0, len(other_names), block * 4):
            scores = some @ _units(theirs[other : other + block * 4]).T
            for row, column in zip(*np.nonzero(scores >= SAME_SHAPE), strict=True):
                score = float(min(1.0, scores[row, column]))
                yield Alike(names[start + row], other_names[other + column], "shape", score)
        advance(len(some))


def _by_marks(
    here: Mapping[str, Print], there: Mapping[str, Print], advance: Callable[[int], object]
) -> Iterator[Alike]:
    names = [name for name, one in there.items() if len(one.marks)]
    if not names:
        return
    owner = np.repeat(np.arange(len(names), dtype=np.int64), [len(there[name].marks) for name in names])
    marks = np.concatenate([there[name].marks for name in names])
    order = np.argsort(marks[:, 0], kind="stable")
    hashes, owner, frames = marks[order, 0], owner[order], marks[order, 1].astype(np.int64)
    for name, one in here.items():
        if len(one.marks):
            yield from _agreeing(name, one.marks, there, names, (hashes, owner, frames))
        advance(1)


def _agreeing(
    name: str, mine: Marks, there: Mapping[str, Print], names: list[str], index: tuple[Marks, Any, Any]
) -> Iterator[Alike]:
    """Recordings with which enough marks agree on one shift, give or take a frame."""
    hashes, owner, frames = index
    first = np.searchsorted(hashes, mine[:, 0], side="left")
    counts = np.searchsorted(hashes, mine[:, 0], side="right") - first
    counts[counts > _COMMON] = 0
    offset = np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(first, counts) + np.arange(counts.sum()) - offset
    shift = np.repeat(mine[:, 1].astype(np.int64), counts) - frames[places]
    votes, number = np.unique(owner[places] * _SHIFTS + shift + _SHIFTS // 2, return_counts=True)
    follows = np.append(votes[1:] == votes[:-1] + 1, [False])[: len(votes)]
    near = number + np.where(follows, np.append(number[1:], [0])[: len(number)], 0)
    best = np.zeros(len(names), dtype=np.int64)
    np.maximum.at(best, votes // _SHIFTS, near)
    for place in np.nonzero(best >= FEWEST_MARKS)[0].tolist():
        score = float(best[place]) / min(len(mine), len(there[names[place]].marks))
        if names[place] != name and score >= SAME_MARKS:
            yield Alike(name, names[place], "marks", min(1.0, score))


def prints_joined(prints: Iterable[tuple[str, bytes, bytes]]) -> dict[str, Print]:
    """Stored measures as prints: name, shape and marks as bytes."""
    return {
        name: Print(np.frombuffer(shape, dtype=np.int8), np.frombuffer(marks, dtype=np.uint32).reshape(-1, 2))
        for name, shape, marks in prints
    }
