"""Reads that are used twice or cross relations."""

from generation.selectors.access import batch_for, corpus_for, dialogue_for
from generation.selectors.items import item_view, item_views, variants_by_uid
from generation.selectors.production import (
    BatchProgress,
    batch_progress,
    batches_listed,
    dialogues_due,
    production_now,
)

__all__ = [
    "BatchProgress",
    "batch_for",
    "batch_progress",
    "batches_listed",
    "corpus_for",
    "dialogue_for",
    "dialogues_due",
    "item_view",
    "item_views",
    "production_now",
    "variants_by_uid",
]
