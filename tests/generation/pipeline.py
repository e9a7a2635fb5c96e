"""Batches for tests, made by the fakes."""

from django.utils import timezone

from generation.models import Batch, Dialogue
from generation.services import BriefInput, batch_create, dialogue_advance
from tests.generation.factories import CorpusFactory


def brief(**fields) -> BriefInput:
    return BriefInput(
        **{
            "benchmark": "speecheq",
            "category": "interpersonal_empathy",
            "text_provider": "fake",
            "voice_provider": "fake",
            "transcriber": "fake",
            **fields,
        }
    )


def batch_of(corpus=None, **fields) -> Batch:
    return batch_create(corpus=corpus or CorpusFactory(), briefs=[brief(**fields)])


def one_briefed(**fields) -> Dialogue:
    return Dialogue.objects.select_related("brief__batch", "corpus").get(brief__batch=batch_of(**fields))


def advance(dialogue: Dialogue, *, times: int = 1, now=None) -> Dialogue:
    for _ in range(times):
        dialogue_advance(dialogue_id=dialogue.pk, now=now or timezone.now())
    dialogue.refresh_from_db()
    return dialogue
