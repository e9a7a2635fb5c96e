"""Integrated loudness by ITU-R BS.1770-4: pyloudnorm's filters, its blocks and its gates, for a whole clip at once."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Samples = npt.NDArray[np.float64]

BLOCK_S = 0.4
STEP = 0.25
"""Of a block; three quarters of it are in the next one, too."""
ABSOLUTE_LUFS = -70.0
RELATIVE_LU = -10.0
_OFFSET = -0.691
_CHANNELS = np.array([1.0, 1.0, 1.0, 1.41, 1.41])


def loudness(samples: npt.NDArray[np.floating], rate: int) -> float | None:
    """Integrated loudness in LUFS, None for silence; a clip shorter than one gating block is repeated until it fills one."""
    array = np.asarray(samples, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.shape[1] > len(_CHANNELS):
        array = array.mean(axis=1, keepdims=True)
    needed = math.ceil(BLOCK_S * rate) + 1
    if len(array) < needed:
        array = np.concatenate([array] * math.ceil(needed / len(array)))
    power = _block_powers(array, rate) @ _CHANNELS[: array.shape[1]]
    heard = power[_lufs(power) >= ABSOLUTE_LUFS]
    if not heard.size:
        return None
    gate = _lufs(heard.mean()) + RELATIVE_LU
    kept = heard[_lufs(heard) > gate]
    value = float(_lufs(kept.mean())) if kept.size else -math.inf
    return value if math.isfinite(value) else None


def _lufs(power: npt.NDArray[np.floating] | np.floating) -> Samples:
    with np.errstate(divide="ignore"):
        return np.asarray(_OFFSET + 10.0 * np.log10(power))


def _block_powers(array: Samples, rate: int) -> Samples:
    """Mean squares of the weighted signal, blocks by channels, from one running sum."""
    from scipy.signal import sosfilt  # noqa: PLC0415 -- slow import, 52 MB with pyloudnorm's

    weighted = sosfilt(_weighting(rate), array, axis=0)
    blocks = round((len(array) / rate - BLOCK_S) / (BLOCK_S * STEP)) + 1
    number = np.arange(blocks)
    starts = (BLOCK_S * (number * STEP) * rate).astype(int)
    ends = np.minimum((BLOCK_S * (number * STEP + 1) * rate).astype(int), len(array))
    energy = np.concatenate((np.zeros((1, array.shape[1])), np.cumsum(weighted * weighted, axis=0)))
    return np.asarray(np.maximum(energy[ends] - energy[starts], 0.0) / (BLOCK_S * rate))


@lru_cache(maxsize=16)
def _weighting(rate: int) -> Samples:
    """The two filters of K-weighting as second-order sections."""
    import pyloudnorm  # noqa: PLC0415 -- slow import: it brings scipy.signal and scipy.stats, 52 MB

    stages = (
        pyloudnorm.IIRfilter(4.0, 1 / math.sqrt(2), 1500.0, rate, "high_shelf"),
        pyloudnorm.IIRfilter(0.0, 0.5, 38.0, rate, "high_pass"),
    )
    return np.array([[*stage.b, *stage.a] for stage in stages])
