"""Every scored answer of a study, as plain data."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter

from django.db.models import Max, QuerySet
from django.db.models.functions import Substr

from eqstudio.benchmarks.base import Score
from evaluation.domain.metrics import Mark
from evaluation.models import ImportedAnswer, ScoreRecord, Sitting, Study, TrialRecord
from evaluation.models.imports import RUNS

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


def withdrawn_answers(*, study: Study) -> QuerySet[ImportedAnswer, int]:
    """Responses that came with a file that was taken out again: they enter no figure."""
    gone = ImportedAnswer.objects.filter(source__study=study).exclude(source__withdrawal=None)
    return gone.values_list("response_id", flat=True)


def marks_of(*, study: Study, own_reading: bool = False, respondents: Collection[int] | None = None) -> Iterator[Mark]:
    """The score that counts of every answer: the verdict a file brought (unless ``own_reading``), else the latest reading.

    Cancelled sittings and withdrawn imports are left out, and so is the item that an open sitting is in the middle of.
    ``respondents`` (primary keys) narrows it to some. Constant in memory.
    """
    unfinished = _in_the_middle(study)
    found = ScoreRecord.objects.filter(response__trial__sitting__respondent__study=study)
    if respondents is not None:
        found = found.filter(response__trial__sitting__respondent__in=respondents)
    rows = (
        found.exclude(response__trial__sitting__state=Sitting.State.CANCELLED)
        .exclude(response__in=withdrawn_answers(study=study))
        .annotate(letter=Substr("value", 1, 2))
        .order_by("response_id", "pk")
        .values_list(*_FIELDS)
        .iterator(chunk_size=2_000)
    )
    for _response, versions in groupby(rows, key=itemgetter(0)):
        *_older, counts = sorted(versions, key=lambda row: (row[1] == IMPORTED) != own_reading)
        respondent, run, dialogue, key, outcome, correct, number, gold, sitting, letter = counts[2:]
        if (sitting, dialogue) not in unfinished:
            yield Mark(respondent, run % RUNS, dialogue, key, outcome, Score(correct, number, gold), letter)


def _in_the_middle(study: Study) -> set[tuple[int, int]]:
    latest = (
        TrialRecord.objects.filter(sitting__respondent__study=study, sitting__state=Sitting.State.OPEN)
        .order_by()
        .values("sitting")
        .annotate(last=Max("pk"))
        .values_list("last", flat=True)
    )
    return set(TrialRecord.objects.filter(pk__in=list(latest)).values_list("sitting_id", "dialogue_id"))
