"""What was drawn and weighed for dialogues, and what a new scene is held against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, OuterRef, Subquery

from eqstudio.benchmarks.leaks import SHARE_EXPECTED, SHARE_TOLERANCE
from generation.models import Batch, Candidate, Dialogue, Draw, QcReport

SCENES_COMPARED = 20_000
"""A new scene is held against this many of the newest of its kind, one by one, so memory does not grow with a corpus."""
TEXT_LEAK = "text gives away"
"""The name of the check by reading."""
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


@dataclass(frozen=True)
class TextLeak:
    """How often a judge that only reads was right over a batch, and whether that is about half."""

    right: int
    asked: int
    dialogues: int
    unjudged: int

    @property
    def share(self) -> float | None:
        return self.right / self.asked if self.asked else None

    @property
    def low(self) -> float:
        return SHARE_EXPECTED - SHARE_TOLERANCE

    @property
    def high(self) -> float:
        return SHARE_EXPECTED + SHARE_TOLERANCE

    @property
    def open(self) -> bool:
        """Whether the words leave the key open; not before something was judged."""
        return self.share is not None and self.low <= self.share <= self.high


def batch_text_leak(*, batch: Batch) -> TextLeak | None:
    """Over the last check of each dialogue of a batch; None when none was judged by its words. One query, read row by row."""
    last = (
        QcReport.objects.filter(dialogue=OuterRef("dialogue"), check_name=TEXT_LEAK).order_by("-run").values("run")[:1]
    )
    found = QcReport.objects.filter(dialogue__brief__batch=batch, check_name=TEXT_LEAK, run=Subquery(last)).values_list(
        "detail", flat=True
    )
    right = asked = dialogues = unjudged = 0
    for detail in found.iterator(chunk_size=_CHUNK):
        dialogues += 1
        unjudged += "asked" not in detail
        right += detail.get("right", 0)
        asked += detail.get("asked", 0)
    return TextLeak(right, asked, dialogues, unjudged) if dialogues else None
