"""Reads that are used twice or cross relations."""

from generation.selectors.access import batch_for, corpus_for, dialogue_for
from generation.selectors.details import DialogueDetail, dialogue_detail
from generation.selectors.items import item_view, item_views, variants_by_uid
from generation.selectors.listing import Facets, corpora_listed, corpus_facets, dialogues_listed
from generation.selectors.production import (
    BatchProgress,
    Spent,
    batch_progress,
    batches_listed,
    batches_open,
    batches_spent,
    dialogues_due,
    due,
    going,
    production_now,
)
from generation.selectors.shortcuts import BenchmarkGuard, shortcuts_found
from generation.selectors.uploads import upload_for, uploads_due, uploads_listed

__all__ = [
    "BatchProgress",
    "BenchmarkGuard",
    "DialogueDetail",
    "Facets",
    "Spent",
    "batch_for",
    "batch_progress",
    "batches_listed",
    "batches_open",
    "batches_spent",
    "corpora_listed",
    "corpus_facets",
    "corpus_for",
    "dialogue_detail",
    "dialogue_for",
    "dialogues_due",
    "dialogues_listed",
    "due",
    "going",
    "item_view",
    "item_views",
    "production_now",
    "shortcuts_found",
    "upload_for",
    "uploads_due",
    "uploads_listed",
    "variants_by_uid",
]
