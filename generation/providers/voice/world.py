"""Delivery by resynthesis: WORLD takes a voice apart into pitch, timbre and noise, and puts it together as asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from generation.providers.local_parts import local_packages

if TYPE_CHECKING:
    import numpy.typing as npt

    Samples = npt.NDArray[np.float64]

FRAME_MS = 5.0
F0_FLOOR_HZ = 60.0
F0_CEIL_HZ = 500.0
SMALLEST_RATE = 0.5


def deliver(samples: Samples, rate: int, *, pitch: float, pitch_range: float, speed: float) -> Samples:
    """Shift the pitch by ``pitch`` semitones, stretch its movement around the median by ``pitch_range``, and speak
    ``speed`` times as fast. Timbre and words stay.
    """
    with local_packages("The embedded voice"):
        import pyworld  # noqa: PLC0415 -- slow import

    signal = np.ascontiguousarray(samples, dtype=np.float64)
    coarse, times = pyworld.dio(signal, rate, f0_floor=F0_FLOOR_HZ, f0_ceil=F0_CEIL_HZ, frame_period=FRAME_MS)
    f0 = pyworld.stonemask(signal, coarse, times, rate)
    envelope = pyworld.cheaptrick(signal, f0, times, rate)
    aperiodicity = pyworld.d4c(signal, f0, times, rate)
    moved = pitch_moved(f0, pitch=pitch, pitch_range=pitch_range)
    return np.asarray(
        pyworld.synthesize(moved, envelope, aperiodicity, rate, FRAME_MS / max(speed, SMALLEST_RATE)), dtype=np.float64
    )


def pitch_moved(f0: Samples, *, pitch: float, pitch_range: float) -> Samples:
    """The pitch track after a shift and a stretch in log frequency; unvoiced frames stay unvoiced."""
    voiced = f0 > 0
    if not voiced.any():
        return f0
    log = np.log2(f0[voiced])
    middle = np.median(log)
    moved = f0.copy()
    moved[voiced] = np.clip(2 ** (middle + pitch / 12 + pitch_range * (log - middle)), F0_FLOOR_HZ, 2 * F0_CEIL_HZ)
    return moved
