"""Every scored answer of a study, as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from django.db.models import Max
from django.db.models.functions import Substr

from eqstudio.benchmarks.base import Score
from evaluation.domain.metrics import Mark
from evaluation.models import RunItem, ScoreRecord, Sitting, Study, TrialRecord

IMPORTED = "imported"
"""Rule of a score that a result file brought along: it counts before any reading of our own."""

_FIELDS = (
    "response_id",
    "rule",
    "response__trial__sitting__respondent_id",
    "response__trial__sitting__run",
    "response__trial__dialogue_id",
    "response__trial__key",
    "outcome",
    "correct",
    "number",
    "gold",
    "response__trial__sitting_id",
    "letter",
)


def marks_of(*, study: Study) -> Iterator[Mark]:
    """The score that counts of every answer: the verdict a file brought, else the latest reading.

    Cancelled sittings are left out, and so are items that an open sitting is in the middle of, and answers to questions
    that were asked anew. Constant in memory.
    """
    unfinished = items_unfinished(study=study)
    rows = (
        ScoreRecord.objects.filter(response__trial__sitting__respondent__study=study, response__trial__retake=None)
        .exclude(response__trial__sitting__state=Sitting.State.CANCELLED)
        .annotate(letter=Substr("value", 1, 2))
        .order_by("response_id", "pk")
        .values_list(*_FIELDS)
        .iterator(chunk_size=2_000)
    )
    for _response, versions in groupby(rows, key=itemgetter(0)):
        *_older, counts = sorted(versions, key=lambda row: row[1] == IMPORTED)
        respondent, run, dialogue, key, outcome, correct, number, gold, sitting, letter = counts[2:]
        if (sitting, dialogue) not in unfinished:
            yield Mark(respondent, run, dialogue, key, outcome, Score(correct, number, gold), letter)


def items_unfinished(*, study: Study) -> set[tuple[int, int]]:
    """Sitting and dialogue of every item that is still being asked: those in a run's queue, and a person's latest."""
    latest = (
        TrialRecord.objects.filter(
            sitting__respondent__study=study, sitting__state=Sitting.State.OPEN, sitting__queued=0
        )
        .order_by()
        .values("sitting")
        .annotate(last=Max("pk"))
        .values_list("last", flat=True)
    )
    found = set(TrialRecord.objects.filter(pk__in=list(latest)).values_list("sitting_id", "dialogue_id"))
    queued = RunItem.objects.filter(sitting__respondent__study=study).order_by()
    return found | set(queued.values_list("sitting_id", "dialogue_id"))
