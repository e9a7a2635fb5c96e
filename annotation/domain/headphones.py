"""The antiphase test for headphones (Woods, Siegel, Traer and McDermott 2017, Attention, Perception & Psychophysics 79).

Of three tones one is really quieter by 6 dB; another is as loud as the third but its right channel is turned over. On
loudspeakers that one cancels itself out and seems the quietest; on headphones the really quieter one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TRIALS = 6
PASS = 5
TONES = 3
RATE = 8_000
"""Samples a second: plenty for a low tone, which is what cancels best across a room."""
TONE_S, GAP_S, RAMP_S = 1.0, 0.5, 0.1
HERTZ = 200.0
LEVEL = 0.25
QUIETER_DB = 6.0


class Tones(NamedTuple):
    """Places (from 0) of the quieter tone, which is the answer, and of the antiphase one, and the phase it starts with."""

    quieter: int
    turned: int
    phase: float


def tones_of(seed: int, trial: int) -> Tones:
    """What is played in ``trial`` (0..5); the same seed gives the same."""
    rng = Random(f"headphones:{seed}:{trial}")  # noqa: S311 -- the seed is the secret
    quieter, turned = rng.sample(range(TONES), 2)
    return Tones(quieter=quieter, turned=turned, phase=rng.uniform(0, 2 * np.pi))


def sound_of(seed: int, trial: int) -> NDArray[np.float64]:
    """Samples (frames x 2) of three tones with pauses; every trial has the same length."""
    tones = tones_of(seed, trial)
    t = np.arange(int(TONE_S * RATE)) / RATE
    ramp = np.clip(np.minimum(t, TONE_S - t) / RAMP_S, 0, 1)
    tone = LEVEL * np.sin(2 * np.pi * HERTZ * t + tones.phase) * np.sin(ramp * np.pi / 2) ** 2
    gap = np.zeros((int(GAP_S * RATE), 2))
    parts: list[NDArray[np.float64]] = []
    for place in range(TONES):
        left = tone * 10 ** (-QUIETER_DB / 20) if place == tones.quieter else tone
        parts += [np.stack([left, -left if place == tones.turned else left], axis=1), gap]
    return np.concatenate(parts[:-1])


def right_answers(seed: int, answers: Sequence[int]) -> int:
    """How many of the answers (0, 1 or 2, one a trial) name the quieter tone."""
    return sum(answer == tones_of(seed, trial).quieter for trial, answer in enumerate(answers[:TRIALS]))
