"""Verdicts that files brought along, beside what our parser reads from the same raw answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from eqstudio.benchmarks.base import Metric, Outcome
from eqstudio.estimates import Estimate
from evaluation.domain.metrics import sheets_build
from evaluation.models import Respondent, Response, ScoreRecord, Study
from evaluation.selectors import IMPORTED, counting, marks_of
from evaluation.services.comparison_rows import Board, Row, estimate_of


def own_reading(answer: Response) -> ScoreRecord | None:
    """What our parser last read from an answer whose file brought a verdict; None for all others. Reads prefetched scores."""
    scores = list(answer.scores.all())
    if not any(score.rule == IMPORTED for score in scores):
        return None
    return max((score for score in scores if score.rule != IMPORTED), key=lambda score: score.pk, default=None)


def readings_apart(theirs: ScoreRecord, ours: ScoreRecord) -> bool:
    """Whether the file and our parser read different answers; where the file only tells right or wrong, whether that differs."""
    return _apart((theirs.outcome, theirs.value, theirs.correct), (ours.outcome, ours.value, ours.correct))


def _apart(theirs: tuple[str, str, bool | None], ours: tuple[str, str, bool | None]) -> bool:
    told_answer = theirs[1] or theirs[0] != Outcome.ANSWERED
    return theirs[1] != ours[1] if told_answer else bool(theirs[2]) != bool(ours[2])


def readings_build(study: Study, board: Board, metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """For each respondent whose file brought verdicts: how many answers are read otherwise by us, and every metric both ways."""
    counted = _counted(study)
    if not counted:
        return []
    sheets = sheets_build(marks_of(study=study, own_reading=True, respondents=list(counted)))
    rows = {row.uid: row for row in board.rows if row.uid}
    found = []
    for respondent in Respondent.objects.filter(pk__in=counted).order_by("pk"):
        theirs = rows.get(respondent.uid)
        if theirs is None or respondent.pk not in sheets:
            continue
        ours = Row(f"{respondent.name} (our reading)", respondent.kind, (sheets[respondent.pk],), respondent.uid)
        answers, differ = counted[respondent.pk]
        found.append(
            {
                "name": respondent.name,
                "uid": respondent.uid,
                "answers": answers,
                "differ": differ,
                "by_file": {metric.name: _plain(estimate_of(board, theirs, metric)) for metric in metrics},
                "by_us": {metric.name: _plain(estimate_of(board, ours, metric)) for metric in metrics},
            }
        )
    return found


def _plain(estimate: Estimate) -> dict[str, Any]:
    return estimate.as_dict()


def _counted(study: Study) -> dict[int, tuple[int, int]]:
    """By respondent: answers with a verdict of the file, and how many of them we read otherwise. Constant in memory."""
    brought = ScoreRecord.objects.filter(rule=IMPORTED, response__trial__sitting__respondent__study=study)
    if not brought.exists():
        return {}
    rows = (
        ScoreRecord.objects.filter(response__in=brought.values("response"))
        .filter(counting(study, "response__trial__"))
        .order_by("response_id", "pk")
        .values_list("response_id", "response__trial__sitting__respondent_id", "rule", "outcome", "value", "correct")
        .iterator(chunk_size=2_000)
    )
    found: dict[int, tuple[int, int]] = {}
    for _response, versions in groupby(rows, key=itemgetter(0)):
        answers = list(versions)
        theirs = next((row[3:] for row in answers if row[2] == IMPORTED), None)
        ours = next((row[3:] for row in reversed(answers) if row[2] != IMPORTED), None)
        if theirs is not None:
            n, differ = found.get(answers[0][1], (0, 0))
            found[answers[0][1]] = n + 1, differ + (ours is not None and _apart(theirs, ours))
    return found
