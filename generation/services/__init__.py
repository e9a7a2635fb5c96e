"""What can be done with corpora, batches and dialogues. Every service is keyword-only, atomic, and never enqueues."""

from generation.services.corpora import corpus_create, corpus_ensure
from generation.services.lifecycle import dialogue_move

__all__ = ["corpus_create", "corpus_ensure", "dialogue_move"]
