"""What the judging page says by itself, and the words of its questions, in the language of the interface."""

from __future__ import annotations

from typing import Any

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.domain.questions import Questions
from annotation.services.problems import PROBLEMS
from eqstudio.benchmarks import Benchmark
from eqstudio.benchmarks.base import Text


def judge_words() -> dict[str, str]:
    return {
        "hear": _("Hear {what}"),
        "grade": _("Grade {what}"),
        "verdict": _("Keep or reject"),
        "reason": _("Choose a reason"),
        "comment": _("Say the reason in the comment"),
        "commentNeeded": _("Write a comment"),
        "answer": _("Answer: {what}"),
        "submit": _("Submit"),
        "next": _("Next item"),
        "change": _("Save the change"),
        "sending": _("Saving…"),
        "waiting": _("Waiting to be sent"),
        "saved": _("draft saved {time}"),
        "savedHere": _("draft kept in this browser {time}"),
        "reserved": _("reserved until {time}"),
        "ended": _("The reservation has ended. What you enter is kept, and you can still submit it."),
        "stored": _("Judgement saved."),
        "storedLate": _("Judgement saved. It came after the reservation had ended, so it may not count."),
        "undo": _("Undo"),
        "undone": _("The judgement is taken back. Here it is again, as you left it."),
        "skippedMe": _("Skipped. It comes back to you later."),
        "skippedOthers": _("Skipped. Somebody else gets it."),
        "skippedUnjudgeable": _("Given back as an item that cannot be judged, with your reason."),
        "why": _("Say why it cannot be judged."),
        "reported": _("Your report is stored. You can go on judging."),
        "wait": _("Your judgement is kept in this browser. The next item comes when it has been sent."),
        "failed": _("That did not work: {message} What you entered is kept."),
        "notSaved": _("Not saved. {message}"),
        "mine": _("My judgements"),
        "offline": _("There is no connection. Try again in a moment; what you entered is kept."),
    }


def question_rows(questions: Questions) -> list[dict[str, Any]]:
    """The questions that a round asks: name, label, short label and choices (value, label), in the order of the page."""
    short = {"confidence": _("how sure"), "emotion": _("which feeling"), "naturalness": _("how natural")}
    labels = {
        "confidence": _("How sure are you?"),
        "emotion": _("Which feeling do you hear most clearly?"),
        "naturalness": _("How natural does the speech sound?"),
    }
    return [
        {
            "name": name,
            "label": labels[name],
            "short": short[name],
            "number": isinstance(values[0], int),
            "values": [(value, _choices()[name][value]) for value in values],
        }
        for name, values in questions.asked.items()
    ]


def _choices() -> dict[str, dict[Any, str]]:
    return {
        "confidence": {1: _("guessing"), 2: _("unsure"), 3: _("fairly sure"), 4: _("certain")},
        "naturalness": {1: _("bad"), 2: _("poor"), 3: _("fair"), 4: _("good"), 5: _("excellent")},
        "emotion": {
            "neutral": _("neutral"),
            "calm": _("calm"),
            "happy": _("happy"),
            "sad": _("sad"),
            "angry": _("angry"),
            "afraid": _("afraid"),
            "surprised": _("surprised"),
            "disgusted": _("disgusted"),
            "mixed": _("several at once"),
            "unclear": _("cannot tell"),
        },
    }


def problem_choices() -> list[tuple[str, str]]:
    """Kinds of audio problem with their labels."""
    labels = {
        "silent": _("nothing to hear"),
        "noise": _("noise or hum"),
        "cut_off": _("cut off at the start or the end"),
        "crackle": _("crackles or gaps"),
        "wrong_words": _("other words than written"),
        "wrong_voice": _("the wrong voice"),
        "level": _("too loud or too quiet"),
        "not_playing": _("it does not play"),
        "other": _("something else"),
    }
    return [(code, labels[code]) for code in PROBLEMS]


def ui_text(text: Text, language: str = "") -> str:
    """The text in ``language``, else in that of the interface; English where there is no other."""
    wanted = language or ("zh" if (get_language() or "en").startswith("zh") else "en")
    return text.get(wanted) or text.get("en", "")


def rubric_of(benchmark: Benchmark, category: str, language: str = "") -> list[dict[str, Any]]:
    """The four anchored grades in ``language``, else in that of the interface."""
    return [
        {"grade": level.grade, "name": ui_text(level.name, language), "anchor": ui_text(level.anchor, language)}
        for level in benchmark.rubric(category)
    ]
