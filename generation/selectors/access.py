"""The only ways a view obtains a corpus, a dialogue or a batch."""

from __future__ import annotations

from eqstudio.access import can_curate, can_sit_exam, object_for
from eqstudio.models import User
from generation.models import Batch, Corpus, Dialogue


def corpus_for(user: User, uid: str) -> Corpus:
    """A corpus for a researcher or admin; others who belong here get 403, outsiders 404."""
    return object_for(user, Corpus.objects.all(), may_know=can_sit_exam, may_do=can_curate, uid=uid)


def dialogue_for(user: User, uid: str) -> Dialogue:
    """A dialogue with everything about it, key included: for a researcher or admin only."""
    found = Dialogue.objects.select_related("corpus", "brief__batch")
    return object_for(user, found, may_know=can_sit_exam, may_do=can_curate, uid=uid)


def batch_for(user: User, uid: str) -> Batch:
    """A batch for a researcher or admin."""
    return object_for(user, Batch.objects.select_related("corpus"), may_know=can_sit_exam, may_do=can_curate, uid=uid)
