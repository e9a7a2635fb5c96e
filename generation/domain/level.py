"""Loudness brought to a target: how far a clip may be turned up before its peaks reach the limit."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import soxr

if TYPE_CHECKING:
    import numpy.typing as npt

TARGET_LUFS = -23.0
TRUE_PEAK_DBTP = -1.0
OVERSAMPLING = 4
MATCH_LU = 0.5
"""Renditions of one line end no further apart than this."""


@dataclass(frozen=True)
class Loud:
    """What matters of a clip for its level: integrated loudness, and the largest peak between samples too."""

    loudness: float
    true_peak: float
    """dBTP."""

    @property
    def highest(self) -> float:
        """The loudness it may be brought to before its peaks pass the limit."""
        return self.loudness + TRUE_PEAK_DBTP - self.true_peak


def true_peak(samples: npt.NDArray[np.floating], rate: int) -> float:
    """The largest magnitude between samples too, by fourfold oversampling."""
    return float(np.abs(soxr.resample(samples, rate, OVERSAMPLING * rate)).max())


def decibels(magnitude: float) -> float:
    return 20 * math.log10(magnitude) if magnitude > 0 else -math.inf


def shared_target(clips: Iterable[Loud], *, target: float = TARGET_LUFS) -> float:
    """The loudness that all of them can have: ``target``, or the lower one that the most peaked of them allows."""
    return min([target, *(clip.highest for clip in clips)])
