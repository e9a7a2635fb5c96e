"""Every scored answer of a study, as plain data."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
from operator import itemgetter

from django.db.models import Q, QuerySet
from django.db.models.functions import Substr

from eqstudio.benchmarks.base import Score
from evaluation.domain.metrics import Mark
from evaluation.models import ImportedAnswer, Part, ScoreRecord, Sitting, Study
from evaluation.models.respondents import RUNS
from evaluation.selectors.exclusions import excluded_of
from evaluation.selectors.progress import in_the_middle

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


def counted(prefix: str = "") -> Q:
    """What makes a sitting count: not cancelled, not of a pilot, and nobody's who has withdrawn. ``prefix`` leads to the
    sitting, as in ``trial__sitting__``. The one place that says so.
    """
    kept = Q(**{f"{prefix}pilot": False, f"{prefix}respondent__participant__withdrawn_at": None})
    return ~Q(**{f"{prefix}state": Sitting.State.CANCELLED}) & kept


def counting(study: Study, prefix: str = "trial__", *, without: Collection[int] | None = None) -> Q:
    """What makes an answer of ``study`` count: of a sitting that counts, about an item of the study itself (not practice, an
    attention item or a repetition), not asked anew since, of nobody whom a declared rule leaves out, and of no file that was taken out again.
    ``prefix`` leads to the question.

    ``without`` names the respondents to leave out in place of those of the rules: an empty one leaves out nobody.
    """
    out = excluded_of(study) if without is None else without
    found = counted(f"{prefix}sitting__") & Q(
        **{f"{prefix}part": Part.ITEM, f"{prefix}retake": None, f"{prefix}sitting__respondent__study": study}
    )
    if out:
        found &= ~Q(**{f"{prefix}sitting__respondent__in": list(out)})
    gone = withdrawn_answers(study=study)
    return found & ~Q(**{f"{prefix}pk__in": gone.values("response__trial")}) if gone.exists() else found


def marks_of(
    *,
    study: Study,
    without: Collection[int] | None = None,
    own_reading: bool = False,
    respondents: Collection[int] | None = None,
) -> Iterator[Mark]:
    """The score that counts of every answer: the verdict a file brought (unless ``own_reading``), else the latest reading.

    Only answers that count (``without`` as in ``counting``); the item that an open sitting is in the middle of is left out.
    ``respondents`` (primary keys) narrows it to some. Constant in memory.
    """
    unfinished = in_the_middle(study)
    found = ScoreRecord.objects.filter(counting(study, "response__trial__", without=without))
    if respondents is not None:
        found = found.filter(response__trial__sitting__respondent__in=respondents)
    rows = (
        found.annotate(letter=Substr("value", 1, 2))
        .order_by("response_id", "pk")
        .values_list(*_FIELDS)
        .iterator(chunk_size=2_000)
    )
    for _response, versions in groupby(rows, key=itemgetter(0)):
        *_older, counts = sorted(versions, key=lambda row: (row[1] == IMPORTED) != own_reading)
        respondent, run, dialogue, key, outcome, correct, number, gold, sitting, letter = counts[2:]
        if (sitting, dialogue) not in unfinished:
            yield Mark(respondent, run % RUNS, dialogue, key, outcome, Score(correct, number, gold), letter)
