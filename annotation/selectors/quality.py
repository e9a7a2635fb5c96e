"""What is known of items that have a known answer."""

from __future__ import annotations

from string import ascii_uppercase
from typing import Any

from annotation.models import GoldAnswer, Judgement, Kind
from eqstudio.benchmarks import benchmark_get


def training_feedback(*, judgement: Judgement) -> dict[str, Any] | None:
    """What was expected of a training item and whether it was met; None where nothing may be told."""
    if judgement.assignment.kind != Kind.TRAINING:
        return None
    known = GoldAnswer.objects.filter(item=judgement.item_id).first()
    if known is None:
        return None
    given = dict(judgement.grades.values_list("variant__uid", "value"))
    letters = _letters(judgement)
    grades = [
        {
            "letter": letters.get(uid, "?"),
            "expected": wanted,
            "given": given.get(uid),
            "tolerance": known.tolerance,
            "right": uid in given and abs(given[uid] - wanted) <= known.tolerance,
        }
        for uid, wanted in sorted(known.grades.items(), key=lambda pair: letters.get(pair[0], "?"))
    ]
    verdict_right = known.verdict in ("", judgement.verdict)
    return {
        "right": verdict_right and all(grade["right"] for grade in grades),
        "verdict": known.verdict,
        "verdict_right": verdict_right,
        "grades": grades,
        "explanation": known.explanation,
    }


def _letters(judgement: Judgement) -> dict[str, str]:
    """Variant uid to the letter it was judged under."""
    roles = benchmark_get(judgement.item.dialogue.benchmark).review_form.graded_roles
    turns = judgement.item.dialogue.turns.filter(role__in=roles).order_by("position")
    shown = judgement.assignment.shown
    uids = [uid for position in turns.values_list("position", flat=True) for uid in shown.get(str(position), [])]
    return dict(zip(uids, ascii_uppercase, strict=False))
