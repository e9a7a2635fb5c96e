"""What a person said of an item, read against the item and its round before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.domain.gate import heard_seconds, heard_share, intervals_check
from annotation.domain.questions import OFF, REQUIRED, Questions, answers_wrong
from annotation.models import Judgement, RoundItem
from annotation.selectors.judgements import RequiredClip, required_clips
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import InvalidInput

Verdict = Judgement.Verdict
OTHER = "other"
COMMENT_LIMIT = 5_000
LONGEST_MS = 24 * 3600 * 1000


@dataclass(frozen=True)
class Answer:
    """A whole answer, checked. ``grades`` go by variant key, ``heard`` by variant uid in seconds; ``heard_s`` is their sum."""

    verdict: str
    grades: dict[int, int]
    reasons: list[str]
    comment: str
    answers: dict[str, Any]
    heard: dict[str, list[list[float]]]
    heard_s: float
    active_ms: int


def answer_check(
    *,
    item: RoundItem,
    verdict: str,
    grades: Mapping[str, int],
    reasons: Sequence[str],
    comment: str,
    answers: Mapping[str, Any],
    heard: Mapping[str, Any],
    active_ms: int,
) -> Answer:
    """Check every part; InvalidInput names the first field that is wrong. A keep needs a grade for every graded variant,
    a reject a reason, and each required clip has to be heard to the round's share. One query.
    """
    if verdict not in Verdict.values:
        raise InvalidInput(_("Say keep or reject."), field="verdict")
    clips = required_clips(dialogue=item.dialogue)
    questions = Questions.from_dict(item.round.questions)
    heard_kept = _heard_check(clips, heard, item.round.gate_share)
    said = _comment_check(str(comment).strip()[:COMMENT_LIMIT], questions, verdict, reasons)
    return Answer(
        verdict=verdict,
        heard=heard_kept,
        heard_s=sum(
            heard_seconds([(start, end) for start, end in heard_kept[clip.uid]], duration=clip.duration)
            for clip in clips
        ),
        grades=_grades_check(clips, grades, complete=verdict == Verdict.KEEP),
        reasons=_reasons_check(item, verdict, reasons),
        comment=said,
        answers=_answers_check(answers, questions),
        active_ms=min(max(0, int(active_ms)), LONGEST_MS),
    )


def _heard_check(clips: list[RequiredClip], heard: Mapping[str, Any], gate: float) -> dict[str, list[list[float]]]:
    if not isinstance(heard, Mapping):
        raise InvalidInput(_("What was heard should be an object: variant to played intervals."), field="heard")
    kept: dict[str, list[list[float]]] = {}
    missing = 0
    for clip in clips:
        intervals = intervals_check(heard.get(clip.uid, []))
        missing += heard_share(intervals, duration=clip.duration) + 1e-6 < gate
        kept[clip.uid] = [[start, end] for start, end in intervals]
    if missing:
        raise InvalidInput(
            _(
                "Listen first: %(missing)d of %(all)d clips have not been heard to %(share)d %%. Your answer is kept as a draft."
            )
            % {"missing": missing, "all": len(clips), "share": round(gate * 100)},
            field="heard",
        )
    return kept


def _grades_check(clips: list[RequiredClip], grades: Mapping[str, int], *, complete: bool) -> dict[int, int]:
    graded = {clip.uid: clip.pk for clip in clips if clip.graded}
    if not isinstance(grades, Mapping) or set(grades) - set(graded):
        raise InvalidInput(_("There is a grade for something that is not graded in this item."), field="grades")
    if any(isinstance(value, bool) or value not in (1, 2, 3, 4) for value in grades.values()):
        raise InvalidInput(_("A grade is 1, 2, 3 or 4."), field="grades")
    if complete and set(grades) != set(graded):
        raise InvalidInput(
            _("%(missing)d grades are missing: to keep an item, grade every version of it.")
            % {"missing": len(graded) - len(grades)},
            field="grades",
        )
    return {graded[uid]: int(value) for uid, value in grades.items()}


def _comment_check(comment: str, questions: Questions, verdict: str, reasons: Sequence[str]) -> str:
    """A reason that is none of those listed has to be said, whatever the round says of comments."""
    needed = verdict == Verdict.REJECT and OTHER in reasons
    if needed and not comment:
        raise InvalidInput(_("For another reason say in the comment what it is."), field="comment")
    if questions.comment == REQUIRED and not comment:
        raise InvalidInput(_("This round asks for a comment on every item."), field="comment")
    return "" if questions.comment == OFF and not needed else comment


def _reasons_check(item: RoundItem, verdict: str, reasons: Sequence[str]) -> list[str]:
    if verdict != Verdict.REJECT:
        return []
    known = [reason.code for reason in benchmark_get(item.dialogue.benchmark).review_form.reasons]
    chosen = [code for code in known if code in set(reasons)]
    if set(reasons) - set(known) or not chosen:
        raise InvalidInput(
            _("To reject an item choose at least one reason: %(known)s.") % {"known": ", ".join(known)}, field="reasons"
        )
    return chosen


def _answers_check(answers: Mapping[str, Any], questions: Questions) -> dict[str, Any]:
    if not isinstance(answers, Mapping):
        raise InvalidInput(_("Answers should be an object: question to answer."), field="answers")
    wrong = answers_wrong(answers, questions=questions)
    if wrong is not None:
        asked = questions.asked.get(wrong)
        if asked is None:
            raise InvalidInput(_("This round does not ask for %(what)s.") % {"what": wrong}, field=f"answers.{wrong}")
        raise InvalidInput(
            _("Answer the question %(what)s with one of: %(values)s.")
            % {"what": wrong, "values": ", ".join(str(value) for value in asked)},
            field=f"answers.{wrong}",
        )
    return {name: answers[name] for name in questions.asked}
