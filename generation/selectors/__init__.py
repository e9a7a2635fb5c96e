"""Reads that are used twice or cross relations."""

from generation.selectors.access import batch_for, corpus_for, dialogue_for
from generation.selectors.browsing import (
    Neighbours,
    Wanted,
    dialogue_neighbours,
    dialogues_wanted,
    findings_named,
    lines_counted,
    wanted_read,
)
from generation.selectors.details import DialogueDetail, dialogue_detail
from generation.selectors.items import WholeItem, item_view, item_views, items_whole, variants_by_uid
from generation.selectors.listing import Facets, corpora_listed, corpus_facets
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
    "Neighbours",
    "Spent",
    "Wanted",
    "WholeItem",
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
    "dialogue_neighbours",
    "dialogues_due",
    "dialogues_wanted",
    "due",
    "findings_named",
    "going",
    "item_view",
    "item_views",
    "items_whole",
    "lines_counted",
    "production_now",
    "shortcuts_found",
    "upload_for",
    "uploads_due",
    "uploads_listed",
    "variants_by_uid",
    "wanted_read",
]
