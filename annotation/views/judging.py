"""What the judging page shows of one lease, and nothing that tells the key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from string import ascii_uppercase
from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.domain.questions import Questions
from annotation.models import Assignment, Judgement, Round
from annotation.quality_words import place_words
from annotation.selectors import queue_state
from annotation.selectors.judgements import turns_of
from annotation.selectors.quality import training_feedback
from annotation.selectors.queue import participation_find
from annotation.services.assignments import assignment_offer
from annotation.services.judgements import answer_draft
from annotation.views.judge_words import problem_choices, question_rows
from eqstudio.benchmarks import Benchmark, benchmark_get
from eqstudio.benchmarks.base import Text
from eqstudio.models import User
from generation.media import ClipCard, clip_card
from generation.models import Dialogue, Turn, Variant

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


def ui_text(text: Text, language: str = "") -> str:
    """The text in ``language``, else in that of the interface; English where there is no other."""
    wanted = language or ("zh" if (get_language() or "en").startswith("zh") else "en")
    return text.get(wanted) or text.get("en", "")


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
    """The turns of a dialogue in order, their renditions in the order of the lease. Three queries, or one for a new lease."""
    turns = turns_of(dialogue=dialogue, renditions=True)
    roles = benchmark_get(dialogue.benchmark).review_form.graded_roles
    letters = letters_of(assignment.shown, [turn.position for turn in turns if turn.role in roles])
    holder = assignment.annotator.uid
    return [_line(turn, assignment.shown.get(str(turn.position), []), letters, holder) for turn in turns]


def _line(turn: Turn, shown: list[str], letters: Mapping[str, str], holder: str) -> Line:
    by_uid = {variant.uid: variant for variant in turn.variants.all()}
    variants = [by_uid[uid] for uid in shown if uid in by_uid]
    speaker = turn.speaker_name or turn.speaker
    names = [
        f"{turn.position} {speaker}" + (f" ({place})" if len(variants) > 1 else "")
        for place in range(1, len(variants) + 1)
    ]
    slots = [
        _slot(variant, letters.get(variant.uid, ""), name, holder)
        for variant, name in zip(variants, names, strict=True)
    ]
    texts = {slot.text for slot in slots}
    return Line(
        position=turn.position,
        speaker=speaker,
        text=texts.pop() if len(texts) == 1 else "",
        slots=slots,
        graded=any(slot.letter for slot in slots),
    )


def _slot(variant: Variant, under: str, name: str, holder: str) -> Slot:
    return Slot(
        name=under or name,
        letter=under,
        group=name.partition(" ")[0] if under else "",
        uid=variant.uid,
        text=variant.text,
        card=clip_card(clip=variant.clip, holder=holder) if variant.clip else None,
    )


def rubric_of(benchmark: Benchmark, category: str, language: str = "") -> list[dict[str, Any]]:
    """The four anchored grades in ``language``, else in that of the interface."""
    return [
        {"grade": level.grade, "name": ui_text(level.name, language), "anchor": ui_text(level.anchor, language)}
        for level in benchmark.rubric(category)
    ]


def examples_of(round_: Round, holder: User) -> list[dict[str, Any]]:
    """The worked examples of a round's guidelines: a clip, the grade it deserves, and why. Two queries."""
    found = round_.examples.select_related("variant__clip", "variant__turn__dialogue").only(
        *("uid", "round", "grade", "why", "variant__text", "variant__clip__uid", "variant__clip__duration"),
        *("variant__clip__peaks", "variant__turn__dialogue__language"),
    )
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
        for number, one in enumerate(found.prefetch_related("variant__clip__renditions"), start=1)
        if one.variant.clip is not None
    ]


def item_context(assignment: Assignment) -> dict[str, Any]:
    """What the page of one lease is made of."""
    dialogue, round_ = assignment.item.dialogue, assignment.item.round
    lines = lines_of(assignment, dialogue)
    slots = [slot for line in lines for slot in line.slots]
    judged = [slot for slot in slots if slot.letter]
    questions = Questions.from_dict(round_.questions)
    return {
        "assignment": assignment,
        "language": dialogue.language,
        "scenario": scenario_lines(dialogue.scenario),
        "lines": lines,
        **_rubric_context(round_, dialogue, assignment.annotator),
        "comment_key": "m" if len(judged) > ascii_uppercase.index("C") else "c",
        "comment_mode": questions.comment,
        "questions": question_rows(questions),
        "problems": problem_choices(),
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


def _rubric_context(round_: Round, dialogue: Dialogue, reader: User) -> dict[str, Any]:
    """The rubric in the round's language with its examples; reasons and questions stay in that of the interface."""
    benchmark = benchmark_get(dialogue.benchmark)
    category = benchmark.category(dialogue.category)
    language = round_.rubric_language
    examples = examples_of(round_, reader)
    return {
        "category": ui_text(category.label, language),
        "category_about": ui_text(category.description, language),
        "rubric": [
            {**level, "example": next((one["uid"] for one in examples if one["grade"] == level["grade"]), "")}
            for level in rubric_of(benchmark, dialogue.category, language)
        ],
        "rubric_language": language,
        "question": ui_text(benchmark.review_form.question, language),
        "reasons": [(reason.code, ui_text(reason.label)) for reason in benchmark.review_form.reasons],
        "examples": examples,
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
    """Until when a judgement can be taken back."""
    return judgement.created + timedelta(seconds=round_.undo_seconds)


def revision_context(judgement: Judgement) -> dict[str, Any]:
    """The page of an item that was judged already, filled in with what was said; there is no lease to keep."""
    context = item_context(judgement.assignment)
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
