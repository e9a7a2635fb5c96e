"""Reads that are used twice or cross relations, and the only ways a view obtains an object."""

from annotation.selectors.access import assignment_for, item_for, judgement_for, round_for, rounds_open_for, split_for
from annotation.selectors.judgements import live_judgements, required_clips
from annotation.selectors.queue import QueueState, queue_state

__all__ = [
    "QueueState",
    "assignment_for",
    "item_for",
    "judgement_for",
    "live_judgements",
    "queue_state",
    "required_clips",
    "round_for",
    "rounds_open_for",
    "split_for",
]
