"""What the judging page shows of one lease, and nothing that tells the key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from string import ascii_uppercase
from typing import Any

from django.utils.translation import gettext as _

from annotation.domain.questions import Questions
from annotation.models import Assignment, Judgement, Round
from annotation.quality_words import place_words
from annotation.selectors import queue_state
from annotation.selectors.lines import SpokenTurn, SpokenVariant, spoken_turns, worked_examples
from annotation.selectors.quality import training_feedback
from annotation.selectors.queue import participation_find
from annotation.services.assignments import assignment_offer
from annotation.services.judgements import answer_draft
from annotation.views.parts import (
    judge_bar,
    judge_grades,
    judge_panels,
    judge_problems,
    judge_questions,
    judge_rubric,
)
from eqstudio.benchmarks import benchmark_get
from eqstudio.models import User
from generation.media import ClipCard, clip_card, sound_card
from generation.models import Dialogue

STOPPED = ("person_paused", "not_qualified")
SCENARIO_KEYS = ("title", "context")
"""What a listener may read of a scenario; the rest of it says how the answer was meant."""


@dataclass(frozen=True)
class Slot:
    """One rendition as shown: under a letter when it is judged, under its speaker when it is context. ``group`` is
    shared by those that are compared.
    """

    name: str
    letter: str
    group: str
    uid: str
    text: str
    card: ClipCard | None


@dataclass(frozen=True)
class Line:
    """One turn as shown. ``text`` is set when all its renditions have the same words."""

    position: int
    speaker: str
    text: str
    slots: list[Slot]
    graded: bool


def letter(index: int) -> str:
    """A, B, .. Z, A1, B1, .."""
    round_trip, place = divmod(index, len(ascii_uppercase))
    return ascii_uppercase[place] + (str(round_trip) if round_trip else "")


def letters_of(shown: Mapping[str, list[str]], graded: Iterable[int]) -> dict[str, str]:
    """Variant uid to the letter it is judged under, running through all graded turns in the order shown."""
    uids = [uid for position in sorted(graded) for uid in shown.get(str(position), [])]
    return {uid: letter(index) for index, uid in enumerate(uids)}


def graded_positions(dialogue: Dialogue) -> list[int]:
    """Positions of the turns whose renditions are judged."""
    roles = benchmark_get(dialogue.benchmark).review_form.graded_roles
    return [turn.position for turn in dialogue.turns.all() if turn.role in roles]


def scenario_lines(scenario: Mapping[str, Any]) -> list[str]:
    """What may be read of a scenario before judging."""
    return [str(scenario[key]) for key in SCENARIO_KEYS if scenario.get(key)]


def lines_of(assignment: Assignment, dialogue: Dialogue) -> list[Line]:
    """The turns of a dialogue in order, their renditions in the order of the lease. One query, none for a new lease."""
    turns = spoken_turns(dialogue=dialogue)
    roles = benchmark_get(dialogue.benchmark).review_form.graded_roles
    letters = letters_of(assignment.shown, [turn.position for turn in turns if turn.role in roles])
    holder = assignment.annotator.uid
    return [_line(turn, assignment.shown.get(str(turn.position), []), letters, holder) for turn in turns]


def _line(turn: SpokenTurn, shown: list[str], letters: Mapping[str, str], holder: str) -> Line:
    by_uid = {variant.uid: variant for variant in turn.variants}
    variants = [by_uid[uid] for uid in shown if uid in by_uid]
    names = [
        f"{turn.position} {turn.speaker}" + (f" ({place})" if len(variants) > 1 else "")
        for place in range(1, len(variants) + 1)
    ]
    slots = [
        _slot(variant, letters.get(variant.uid, ""), name, holder)
        for variant, name in zip(variants, names, strict=True)
    ]
    texts = {slot.text for slot in slots}
    return Line(
        position=turn.position,
        speaker=turn.speaker,
        text=texts.pop() if len(texts) == 1 else "",
        slots=slots,
        graded=any(slot.letter for slot in slots),
    )


def _slot(variant: SpokenVariant, under: str, name: str, holder: str) -> Slot:
    return Slot(
        name=under or name,
        letter=under,
        group=name.partition(" ")[0] if under else "",
        uid=variant.uid,
        text=variant.text,
        card=sound_card(**variant.sound._asdict(), holder=holder) if variant.sound else None,
    )


def examples_of(round_: Round, holder: User) -> list[dict[str, Any]]:
    """The worked examples of a round's guidelines: a clip, the grade it deserves, and why. One query, two more where there are any."""
    return [
        {
            "uid": one.uid,
            "label": _("Example %(number)d, grade %(grade)d") % {"number": number, "grade": one.grade},
            "grade": one.grade,
            "why": one.why,
            "text": one.variant.text,
            "language": one.variant.turn.dialogue.language,
            "card": clip_card(clip=one.variant.clip, holder=holder.uid),
        }
        for number, one in enumerate(worked_examples(round=round_), start=1)
        if one.variant.clip is not None
    ]


def item_context(assignment: Assignment, *, revising: bool = False) -> dict[str, Any]:
    """What the page of one lease is made of."""
    dialogue, round_ = assignment.item.dialogue, assignment.item.round
    lines = lines_of(assignment, dialogue)
    slots = [slot for line in lines for slot in line.slots]
    judged = [slot for slot in slots if slot.letter]
    questions = Questions.from_dict(round_.questions)
    comment_key = "m" if len(judged) > ascii_uppercase.index("C") else "c"
    examples = examples_of(round_, assignment.annotator)
    about = (dialogue.benchmark, dialogue.category, round_.rubric_language)
    return {
        "assignment": assignment,
        "language": dialogue.language,
        "scenario": scenario_lines(dialogue.scenario),
        "lines": lines,
        "examples": examples,
        "rubric": judge_rubric(*about, tuple((one["grade"], one["uid"]) for one in examples)),
        "grades": {slot.letter: judge_grades(*about, slot.letter) for slot in judged},
        "questions": judge_questions(questions) if questions.asked else "",
        "panels": judge_panels(dialogue.benchmark, revising=revising),
        "problems": judge_problems(),
        "bar": judge_bar(questions.comment, comment_key, revising=revising),
        "comment_key": comment_key,
        "voiced": [slot for slot in slots if slot.card],
        "data": {
            "assignment": assignment.uid,
            "leaseUntil": assignment.lease_until.isoformat(),
            "draft": assignment.draft,
            "judged": [{"uid": slot.uid, "letter": slot.letter} for slot in judged],
            "asked": list(questions.asked),
            "commentMode": questions.comment,
        },
    }


def queue_context(round_: Round, annotator: User, now: datetime) -> dict[str, Any]:
    """What a person sees in a round now: their item, or why there is none."""
    assignment, places = assignment_offer(round=round_, annotator=annotator, now=now)
    queue = queue_state(round=round_, annotator=annotator, now=now, lease=assignment, places=places)
    context = {"round": round_, "queue": queue, "number": min(queue.done_by_me + 1, max(queue.total, 1))}
    if queue.kind in STOPPED:
        place = participation_find(round=round_, annotator=annotator)
        context |= {"place": place, "said": place_words(place) if place else None}
    return context if assignment is None else {**context, **item_context(assignment)}


def undo_until(judgement: Judgement, round_: Round) -> datetime:
    """Until when a judgement can be taken back: not at all where it came late and does not count, or the round is not open."""
    if judgement.assignment.state == Assignment.State.LATE or round_.state != Round.State.OPEN:
        return judgement.created
    return judgement.created + timedelta(seconds=round_.undo_seconds)


def revision_context(judgement: Judgement) -> dict[str, Any]:
    """The page of an item that was judged already, filled in with what was said; there is no lease to keep."""
    context = item_context(judgement.assignment, revising=True)
    key = f"revise-{judgement.uid}"
    data = {**context["data"], "assignment": key, "leaseUntil": None, "draft": answer_draft(judgement=judgement)}
    return {**context, "round": judgement.item.round, "revising": judgement, "data": {**data, "revise": True}}


def feedback_context(judgement: Judgement) -> dict[str, Any] | None:
    """What was expected of a training item; None for everything else."""
    feedback = training_feedback(judgement=judgement)
    if feedback is None:
        return None
    labels = dict(Judgement.Verdict.choices)
    return {
        "feedback": feedback,
        "given": judgement.get_verdict_display(),
        "expected": labels.get(feedback["verdict"], ""),
    }
