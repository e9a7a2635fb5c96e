"""Reads that are used twice or cross relations, and the only ways a view obtains an object."""

from annotation.selectors.access import (
    audit_for,
    export_for,
    freeze_for,
    item_for,
    judgement_for,
    public_split_for,
    round_for,
    rounds_open_for,
    split_for,
)
from annotation.selectors.agreement import disputed_items, round_agreement
from annotation.selectors.audit import split_audit
from annotation.selectors.judgements import live_judgements, required_clips
from annotation.selectors.named import corpus_named, round_named, split_named
from annotation.selectors.progress import round_progress, rounds_with_progress
from annotation.selectors.queue import QueueState, queue_state
from annotation.selectors.splits import manifest_entries, manifest_head, pseudonym, split_rounds

__all__ = [
    "QueueState",
    "audit_for",
    "corpus_named",
    "disputed_items",
    "export_for",
    "freeze_for",
    "item_for",
    "judgement_for",
    "live_judgements",
    "manifest_entries",
    "manifest_head",
    "pseudonym",
    "public_split_for",
    "queue_state",
    "required_clips",
    "round_agreement",
    "round_for",
    "round_named",
    "round_progress",
    "rounds_open_for",
    "rounds_with_progress",
    "split_audit",
    "split_for",
    "split_named",
    "split_rounds",
]
