"""Reads that are used twice or cross relations."""

from generation.selectors.access import batch_for, corpus_for, dialogue_for
from generation.selectors.items import item_view, item_views, variants_by_uid

__all__ = ["batch_for", "corpus_for", "dialogue_for", "item_view", "item_views", "variants_by_uid"]
