"""Level last: loudness first brought to a common value, then moved as the delivery asks, with room for true peaks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from generation.domain.level import TARGET_LUFS, true_peak
from generation.domain.loudness import loudness
from generation.providers.voice.wav import PEAK_LIMIT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Samples = npt.NDArray[np.float64]


class Levelled(NamedTuple):
    """``short_db`` is how much below the wanted level the result stays, because its peaks would clip."""

    samples: Samples
    short_db: float


def levelled(samples: Samples, rate: int, *, volume: float) -> Levelled:
    """Bring ``samples`` to -23 LUFS plus ``volume`` dB, or as close as true peaks below -1 dBFS allow."""
    measured = loudness(samples, rate)
    if measured is None:
        return Levelled(samples, 0.0)
    wanted = 10 ** ((TARGET_LUFS + volume - measured) / 20)
    peak = true_peak(samples, rate)
    allowed = min(wanted, PEAK_LIMIT / peak)
    return Levelled(samples * allowed, 20 * math.log10(wanted / allowed))
