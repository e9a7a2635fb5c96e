"""The whole pipeline in this process, for the command line and the demo; stopping it at any point loses nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from eqstudio.benchmarks import benchmark_get
from eqstudio.models import User
from generation.models import Batch, Brief, Corpus, Dialogue
from generation.selectors.production import going
from generation.services.batches import BriefInput, batch_create, brief_check, briefs_missing
from generation.services.leases import leases_reclaim
from generation.services.production import dialogue_advance
from generation.services.running import POLL_S, dialogues_run_many, dialogues_run_shared, ids_of

FEWEST_PER_PROCESS = 8


def briefs_wanted(*, like: BriefInput, categories: Sequence[str] = ()) -> list[BriefInput]:
    """``like`` once for each category (all of the benchmark if none is named); everything about it checked."""
    keys = categories or [category.key for category in benchmark_get(like.benchmark).categories]
    wanted = [replace(like, category=key) for key in keys]
    for brief in wanted:
        brief_check(brief)
    return wanted


@transaction.atomic
def batch_top_up(
    *,
    corpus: Corpus,
    wanted: Sequence[BriefInput],
    actor: User | None = None,
    thresholds: Mapping[str, float] | None = None,
) -> Batch | None:
    """A batch with what ``corpus`` lacks of ``wanted``; None, and nothing written, when it has it all. So a request that
    is made again adds nothing.
    """
    missing = [brief for brief in (briefs_missing(corpus=corpus, wanted=brief) for brief in wanted) if brief]
    return batch_create(corpus=corpus, briefs=missing, actor=actor, thresholds=thresholds) if missing else None


def dialogues_of(*, corpus: Corpus, wanted: Sequence[BriefInput]) -> QuerySet[Dialogue]:
    """The dialogues that answer ``wanted``, whichever batch asked for them first."""
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
    return Dialogue.objects.filter(brief__in=briefs).order_by("pk")


def dialogues_run(
    *,
    ids: Iterable[int] | QuerySet[Dialogue],
    sleep: Callable[[float], None] = time.sleep,
    told: Callable[[int], None] = lambda _id: None,
    connections: int = 1,
) -> None:
    """Advance these dialogues until none is in production any more. ``told`` hears of each that is finished.

    With more than one connection, steps that wait on a provider run at once, in threads with a database connection each;
    a query of many dialogues is shared by several processes. What another process is working on, and what is put off, is waited for; what a dead process left is taken over.
    """
    chosen = ids_of(ids) if isinstance(ids, QuerySet) else ids
    if isinstance(ids, QuerySet) and processes_for(count=ids.count(), connections=connections) > 1:
        processes = processes_for(count=ids.count(), connections=connections)
        dialogues_run_shared(dialogues=ids, connections=connections, processes=processes, told=told)
        return
    if connections > 1:
        dialogues_run_many(ids=chosen, connections=connections, told=told)
        return
    left = list(chosen)
    while left:
        leases_reclaim(now=timezone.now())
        for dialogue_id in left:
            while dialogue_advance(dialogue_id=dialogue_id, now=timezone.now()):
                pass
        unfinished = set(_in_production(left))
        for dialogue_id in left:
            if dialogue_id not in unfinished:
                told(dialogue_id)
        left = [dialogue_id for dialogue_id in left if dialogue_id in unfinished]
        if left:
            sleep(POLL_S)


def processes_for(*, count: int, connections: int) -> int:
    """How many processes ``count`` dialogues are worth: one for a few, else one for each core that has its share to do."""
    if count < connections:
        return 1
    return max(1, min(os.cpu_count() or 1, connections // FEWEST_PER_PROCESS))


def _in_production(ids: Sequence[int]) -> list[int]:
    return list(Dialogue.objects.filter(going(), pk__in=ids).values_list("pk", flat=True))
