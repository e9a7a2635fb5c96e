"""Which option stands where: one place decides it, so that every rendition is in every slot equally often."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from random import Random

from eqstudio.benchmarks.base import Trial

LETTERS = "ABCDEFGHIJ"


def order_seed(*, study_seed: int, respondent: str, run: int) -> int:
    """The seed of a sitting. Two successive runs (0 and 1, 2 and 3) share it; the second shows the options mirrored."""
    digest = hashlib.sha256(f"{study_seed}:{respondent}:{run // 2}".encode()).digest()
    return int.from_bytes(digest[:7], "big")


def trial_rng(*, seed: int, dialogue: str) -> Random:
    """The same numbers on every call for one sitting and one dialogue."""
    return Random(f"{seed}:{dialogue}")  # noqa: S311 -- an order, not a secret


def trial_mirror(trial: Trial) -> Trial:
    """The same question with its options in the opposite order; letters stay with the slots."""
    flipped = tuple(
        replace(option, letter=slot.letter) for slot, option in zip(trial.options, reversed(trial.options), strict=True)
    )
    return replace(trial, options=flipped)
