"""What was drawn and weighed for dialogues, and what a new scene is held against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from generation.models import Candidate, Dialogue, Draw

SCENES_COMPARED = 20_000
"""A new scene is held against this many of the newest of its kind, one by one, so memory does not grow with a corpus."""
_CHUNK = 500


@dataclass(frozen=True)
class StageDetail:
    """What one stage of one take produced, try by try."""

    take: int
    stage: str
    candidates: list[Candidate]


def draws_counted(*, corpus_id: int, pool: str) -> dict[str, int]:
    """How often each value of a pool was drawn in a corpus so far; one query."""
    counted = (
        Draw.objects.filter(corpus_id=corpus_id, pool=pool).order_by().values_list("value").annotate(n=Count("pk"))
    )
    return {str(value): int(n) for value, n in counted}


def scenes_earlier(*, dialogue: Dialogue, since: datetime | None = None) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Title, context and names of the other dialogues of its benchmark and language in the corpus, newest first."""
    kin = Dialogue.objects.filter(
        corpus_id=dialogue.corpus_id, benchmark=dialogue.benchmark, language=dialogue.language
    )
    others = (
        (kin.filter(updated__gte=since) if since else kin)
        .exclude(pk=dialogue.pk)
        .exclude(title="")
        .order_by("-pk")
        .values_list("title", "scenario")[:SCENES_COMPARED]
    )
    for title, scenario in others.iterator(chunk_size=_CHUNK):
        names = [str(value) for key, value in scenario.items() if key.endswith("_name")]
        yield title, str(scenario.get("context") or ""), names


def candidates_by_stage(*, dialogue: Dialogue) -> list[StageDetail]:
    """Everything the stages of a dialogue produced, in order; one query."""
    found: list[StageDetail] = []
    for row in Candidate.objects.filter(dialogue=dialogue).select_related("call").order_by("pk"):
        if not found or (found[-1].take, found[-1].stage) != (row.take, row.stage):
            found.append(StageDetail(row.take, row.stage, []))
        found[-1].candidates.append(row)
    return found


def stage_exhausted(*, dialogue: Dialogue, last_attempt: int) -> bool:
    """Whether a stage of this take was refused in its last try: only another take can go on."""
    last = Candidate.objects.filter(dialogue=dialogue, take=dialogue.takes, attempt=last_attempt)
    refused = set(last.values_list("stage", flat=True)) - set(last.filter(chosen=True).values_list("stage", flat=True))
    return bool(refused)
