"""Is every line spoken by whom it should be? Clips of one speaker lie closer together than those of two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import fmean

from generation.domain.acoustics import Measures
from generation.domain.quality import Finding
from generation.domain.thresholds import DEFAULTS, Thresholds

PITCH_WEIGHT = 0.4
"""How much a semitone of median F0 counts beside a decibel of timbre; deliveries of one voice move it by several."""
SPEAKERS_APART = 1.2
"""Two speakers are told apart when their clips lie this much further from each other than clips of the same speaker do."""


@dataclass(frozen=True)
class Voiced:
    """A clip and the part that speaks it."""

    key: int
    speaker: str
    measures: Measures


def voice_distance(first: Measures, second: Measures) -> float | None:
    """How unlike two voices sound: root mean square over the coefficients of their timbre and their median pitch.

    None when one of them has no timbre or no pitch.
    """
    if not first.timbre or not second.timbre or not first.pitch or not second.pitch:
        return None
    differences = [a - b for a, b in zip(first.timbre, second.timbre, strict=True)]
    differences.append(PITCH_WEIGHT * 12 * math.log2(first.pitch / second.pitch))
    return math.sqrt(fmean(difference**2 for difference in differences))


def voice_findings(clips: Sequence[Voiced], *, thresholds: Thresholds = DEFAULTS) -> Mapping[int, Finding]:
    """One finding per clip, by its key: whether it lies closer to its own speaker's other clips than to anybody else's.

    Nothing is said of a clip whose speaker has no other, or who has nobody to be mistaken for; and nothing is held against
    one whose speakers sound so alike that a swap could not be heard.
    """
    distances = _Distances(clips)
    found = {}
    for clip in clips:
        parts = {
            name: [other for other in clips if other.speaker == name and other.key != clip.key]
            for name in _names(clips)
        }
        own = distances.mean([clip], parts.pop(clip.speaker))
        away = {name: distances.mean([clip], others) for name, others in parts.items()}
        known = {name: value for name, value in away.items() if value}
        if own is None or not known:
            continue
        nearest = min(known, key=lambda name: known[name])
        mine = [other for other in clips if other.speaker == clip.speaker and other.key != clip.key]
        apart = distances.apart(mine, parts[nearest])
        found[clip.key] = _finding(clip, own / known[nearest], nearest, apart, thresholds)
    return found


def _names(clips: Sequence[Voiced]) -> list[str]:
    return sorted({clip.speaker for clip in clips})


class _Distances:
    """Every distance between two clips, computed once."""

    def __init__(self, clips: Sequence[Voiced]) -> None:
        self._between: dict[tuple[int, int], float] = {}
        for first, second in permutations(clips, 2):
            distance = voice_distance(first.measures, second.measures)
            if distance is not None:
                self._between[first.key, second.key] = distance

    def mean(self, some: Sequence[Voiced], others: Sequence[Voiced]) -> float | None:
        """Between the clips of two groups, a clip and itself left out; None when none is known."""
        pairs = ((one.key, other.key) for one in some for other in others)
        known = [self._between[pair] for pair in pairs if pair in self._between]
        return fmean(known) if known else None

    def apart(self, some: Sequence[Voiced], others: Sequence[Voiced]) -> float | None:
        """How much further two speakers lie apart than clips of each of them do; None when nobody has two clips."""
        between = self.mean(some, others)
        within = [value for value in (self.mean(some, some), self.mean(others, others)) if value is not None]
        return between / fmean(within) if between is not None and within and fmean(within) else None


def _finding(clip: Voiced, value: float, nearest: str, apart: float | None, limits: Thresholds) -> Finding:
    alike = apart is None or apart < SPEAKERS_APART
    passed = alike or value <= limits.voice_ratio
    said = "voice.alike" if alike else "voice" if passed else "voice.swapped"
    figures = {
        "speaker": clip.speaker,
        "nearest": nearest,
        "value": f"{value:.2f}",
        "limit": f"{limits.voice_ratio:g}",
    }
    detail = {"nearest": nearest, "apart": None if apart is None else round(apart, 2)}
    return Finding("voice", passed, value, limits.voice_ratio, said, figures, detail)
