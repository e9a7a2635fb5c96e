"""Reads that are used twice or cross relations."""

from generation.selectors.access import batch_for, corpus_for, dialogue_for
from generation.selectors.details import DialogueDetail, dialogue_detail
from generation.selectors.items import item_view, item_views, variants_by_uid
from generation.selectors.listing import Facets, corpora_listed, corpus_facets, dialogues_listed
from generation.selectors.production import (
    BatchProgress,
    batch_progress,
    batches_listed,
    dialogues_due,
    due,
    production_now,
)
from generation.selectors.shortcuts import BenchmarkGuard, shortcuts_found

__all__ = [
    "BatchProgress",
    "BenchmarkGuard",
    "DialogueDetail",
    "Facets",
    "batch_for",
    "batch_progress",
    "batches_listed",
    "corpora_listed",
    "corpus_facets",
    "corpus_for",
    "dialogue_detail",
    "dialogue_for",
    "dialogues_due",
    "dialogues_listed",
    "due",
    "item_view",
    "item_views",
    "production_now",
    "shortcuts_found",
    "variants_by_uid",
]
