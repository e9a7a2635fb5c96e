"""One question of the exam as a page shows it, and what comes between two of them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from eqstudio.benchmarks.base import Trial
from evaluation.domain.protocol import Protocol
from evaluation.models import Part, Sitting, TrialRecord
from evaluation.selectors import protocol_of, sitting_progress
from evaluation.selectors.participants import parts_shown
from evaluation.services import trial_next
from generation.media import clip_card
from generation.models import Variant
from generation.selectors import variants_by_uid

PRACTICE_OVER, BREAK = "practice", "break"
CONFIDENCE = range(1, 6)


def page_language() -> str:
    """The language of the studio's texts that the page is in: en or zh."""
    return "zh" if (get_language() or "en").startswith("zh") else "en"


def sitting_context(sitting: Sitting) -> dict[str, Any]:
    """What every page of a sitting shows."""
    study = sitting.respondent.study
    instructions = study.instructions.get(page_language()) or study.instructions.get("en", "")
    return {
        "sitting": sitting,
        "study": study,
        "instructions": instructions,
        "progress": sitting_progress(sitting=sitting),
    }


def question_context(request: HttpRequest, sitting: Sitting) -> dict[str, Any]:
    """The question that waits, as shown, with its clips under opaque addresses; a pause where one is due before it; nothing
    when the exam is over, or while its study is closed.
    """
    closed = sitting.state == Sitting.State.OPEN and not sitting.respondent.study.is_open
    record = None if closed else trial_next(sitting=sitting)
    progress = sitting_progress(sitting=sitting)
    context: dict[str, Any] = {"progress": progress, "number": min(progress.done + 1, progress.total)}
    if closed:
        return {**context, "closed": True}
    if record is None:
        return context
    protocol = protocol_of(sitting.respondent.study)
    done = _begun_before(sitting, record)
    pause = _pause(request, sitting, record, protocol, done)
    if pause:
        return {**context, "pause": pause, "done": done, "limit": protocol.execution.max_minutes}
    return {**context, **_number(sitting, record, done), **_question(record), **_extras(protocol)}


def paused_key(sitting: Sitting) -> str:
    """Where in the session stands after how many dialogues the person went on."""
    return f"sitting-pause-{sitting.uid}"


def _begun_before(sitting: Sitting, record: TrialRecord) -> int:
    """Dialogues begun before the one of ``record``, practice not counted."""
    begun = set(sitting.trials.exclude(part=Part.PRACTICE).order_by("pk").values_list("dialogue_id", "part"))
    return len(begun - {(record.dialogue_id, record.part)})


def _pause(request: HttpRequest, sitting: Sitting, record: TrialRecord, protocol: Protocol, done: int) -> str:
    """Whether something is said before this question: only between two dialogues, and only until the person goes on."""
    if record.part == Part.PRACTICE or done <= request.session.get(paused_key(sitting), -1):
        return ""
    if sitting.trials.filter(dialogue=record.dialogue_id, part=record.part).count() > 1:
        return ""
    if done == 0:
        return PRACTICE_OVER if sitting.trials.filter(part=Part.PRACTICE).exists() else ""
    every = protocol.execution.break_after
    return BREAK if every and done % every == 0 else ""


def _number(sitting: Sitting, record: TrialRecord, done: int) -> dict[str, Any]:
    """Attention items and repetitions are counted like any other, so that nothing tells them apart."""
    if record.part != Part.PRACTICE:
        return {"number": done + 1}
    practised = sitting.trials.filter(part=Part.PRACTICE).values("dialogue").distinct().count()
    return {"number": practised, "practice": parts_shown(sitting=sitting).get(Part.PRACTICE.value, practised)}


def _extras(protocol: Protocol) -> dict[str, Any]:
    return {
        "confidence": CONFIDENCE if protocol.design.confidence else (),
        "comment": protocol.design.comment,
    }


def _question(record: TrialRecord) -> dict[str, Any]:
    trial = Trial.from_dict(record.shown)
    uids = [part.variant for part in trial.context if part.variant] + [
        part.variant for part in trial.options if part.variant
    ]
    variants = variants_by_uid(uids=uids)
    user = record.sitting.respondent.user
    holder = user.uid if user else ""
    low, high = trial.scale or (1, 0)
    question, *anchors = trial.question.splitlines() or [""]
    return {
        "record": record,
        "trial": trial,
        "scenario": trial.scenario.splitlines(),
        "question": question,
        "anchors": anchors,
        "segments": [
            {
                "name": _("line %(number)s") % {"number": number},
                "speaker": segment.speaker,
                "text": segment.text,
                "uid": segment.variant,
                "card": _card(variants, segment.variant, holder),
            }
            for number, segment in enumerate(trial.context, start=1)
        ],
        "options": [
            {
                "letter": option.letter,
                "text": option.text,
                "uid": option.variant,
                "card": _card(variants, option.variant, holder),
            }
            for option in trial.options
        ],
        "grades": list(range(low, high + 1)),
        "data": {"trial": record.uid, "number": bool(trial.scale)},
    }


def _card(variants: dict[str, Variant], uid: str | None, holder: str) -> Any:
    variant = variants.get(uid or "")
    return clip_card(clip=variant.clip, holder=holder) if variant and variant.clip else None
