"""Which option stands where: one place decides it, so that every rendition is in every slot equally often."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from random import Random

from eqstudio.benchmarks.base import Trial

LETTERS = "ABCDEFGHIJ"
CROSSED, MIRRORED = 1 << 60, 1 << 61
"""Above the seeds themselves: marks of a person's sitting whose options stand as for all people, and of one that shows them
mirrored. What was opened before people were crossed has neither and keeps the order it began with.
"""


def order_seed(*, study_seed: int, respondent: str, run: int) -> int:
    """The seed of a sitting. Two successive runs (0 and 1, 2 and 3) share it; the second shows the options mirrored."""
    digest = hashlib.sha256(f"{study_seed}:{respondent}:{run // 2}".encode()).digest()
    return int.from_bytes(digest[:7], "big")


def crossed_seed(seed: int, *, mirrored: bool) -> int:
    """The seed of a person's sitting: an order of items of its own, and one of the two orders of options of the study."""
    return seed | CROSSED | (MIRRORED if mirrored else 0)


def options_seed(seed: int, *, study_seed: int) -> int:
    """The seed of the order of options in a sitting with ``seed``; people who are crossed share that of the study."""
    return order_seed(study_seed=study_seed, respondent="people", run=0) if seed & CROSSED else seed


def trial_rng(*, seed: int, dialogue: str) -> Random:
    """The same numbers on every call for one sitting and one dialogue."""
    return Random(f"{seed}:{dialogue}")  # noqa: S311 -- an order, not a secret


def trial_mirror(trial: Trial) -> Trial:
    """The same question with its options in the opposite order; letters stay with the slots."""
    flipped = tuple(
        replace(option, letter=slot.letter) for slot, option in zip(trial.options, reversed(trial.options), strict=True)
    )
    return replace(trial, options=flipped)
