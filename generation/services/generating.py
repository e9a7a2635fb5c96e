"""The whole pipeline in this process, for the command line and the demo; stopping it at any point loses nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from eqstudio.benchmarks import benchmark_get
from eqstudio.models import User
from generation.domain.lifecycle import IN_PRODUCTION
from generation.models import Batch, Brief, Corpus, Dialogue
from generation.services.batches import BriefInput, batch_create, brief_check, briefs_missing
from generation.services.leases import leases_reclaim
from generation.services.production import dialogue_advance

POLL_S = 0.5
"""How long to wait when all that is left is being worked on elsewhere or put off."""


def briefs_wanted(*, like: BriefInput, categories: Sequence[str] = ()) -> list[BriefInput]:
    """``like`` once for each category (all of the benchmark if none is named); everything about it checked."""
    keys = categories or [category.key for category in benchmark_get(like.benchmark).categories]
    wanted = [replace(like, category=key) for key in keys]
    for brief in wanted:
        brief_check(brief)
    return wanted


@transaction.atomic
def batch_top_up(*, corpus: Corpus, wanted: Sequence[BriefInput], actor: User | None = None) -> Batch | None:
    """A batch with what ``corpus`` lacks of ``wanted``; None, and nothing written, when it has it all. So a request that
    is made again adds nothing.
    """
    missing = [brief for brief in (briefs_missing(corpus=corpus, wanted=brief) for brief in wanted) if brief]
    return batch_create(corpus=corpus, briefs=missing, actor=actor) if missing else None


def dialogues_of(*, corpus: Corpus, wanted: Sequence[BriefInput]) -> list[int]:
    """Ids of the dialogues that answer ``wanted``, whichever batch asked for them first."""
    briefs: list[int] = []
    for want in wanted:
        same = Brief.objects.filter(
            batch__corpus=corpus,
            batch__cancelled_at=None,
            benchmark=want.benchmark,
            category=want.category,
            language=want.language,
            seed=want.seed,
            text_provider=want.text_provider,
            voice_provider=want.voice_provider,
            transcriber=want.transcriber,
        )
        briefs += same.values_list("pk", flat=True)
    return list(Dialogue.objects.filter(brief__in=briefs).order_by("pk").values_list("pk", flat=True))


def dialogues_run(
    *,
    ids: Sequence[int],
    clock: Callable[[], datetime] = timezone.now,
    sleep: Callable[[float], None] = time.sleep,
    told: Callable[[int], None] = lambda _id: None,
) -> None:
    """Advance these dialogues until none is in production any more. ``told`` hears of each that is finished.

    What another process is working on, and what is put off, is waited for; what a dead process left is taken over.
    """
    left = list(ids)
    while left:
        leases_reclaim(now=clock())
        for dialogue_id in left:
            while dialogue_advance(dialogue_id=dialogue_id, now=clock()):
                pass
        going = set(_in_production(left))
        for dialogue_id in left:
            if dialogue_id not in going:
                told(dialogue_id)
        left = [dialogue_id for dialogue_id in left if dialogue_id in going]
        if left:
            sleep(POLL_S)


def _in_production(ids: Sequence[int]) -> list[int]:
    states = [state.value for state in IN_PRODUCTION]
    found = Dialogue.objects.filter(pk__in=ids, state__in=states, brief__batch__cancelled_at=None)
    return list(found.values_list("pk", flat=True))
