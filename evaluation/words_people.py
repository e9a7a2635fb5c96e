"""Words for people of a study: outcomes, reasons, rules, and what they may be asked about themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext_lazy as _

from evaluation.domain.demographics import CHOICES

OUTCOME_WORDS: dict[str, Any] = {
    "complete": _("complete"),
    "screened_out": _("screened out"),
    "withdrawn": _("withdrawn"),
    "failed_attention": _("failed attention"),
}
REASON_WORDS: dict[str, Any] = {
    "no_consent": _("did not consent"),
    "not_eligible": _("is not whom the study is for"),
    "headphones": _("did not pass the headphone check"),
    "own": _("by their own wish"),
    "request": _("on request"),
}
SCREENED_OUT: dict[str, Any] = {
    "not_eligible": _("You said that what it asks of people is not true of you."),
    "headphones": _("It needs headphones, and the check for them was not passed."),
}
"""Why somebody was screened out, as a sentence to that person."""
STEP_WORDS: dict[str, Any] = {
    "joined": _("came in"),
    "eligibility": _("eligible"),
    "consent": _("consented"),
    "no_ai": _("stated to use no AI"),
    "headphones": _("past the headphone check"),
    "instructions": _("read the instructions"),
    "answered": _("answered something"),
    "finished": _("finished"),
    "not_withdrawn": _("answered and not withdrawn"),
    "counted": _("in the figures"),
}
STAGE_WORDS: dict[str, Any] = {
    "eligibility": _("before eligibility"),
    "consent": _("before consent"),
    "no_ai": _("before the statement on AI"),
    "headphones": _("at the headphone check"),
    "instructions": _("at the instructions"),
    "exam": _("at the questions"),
    "details": _("at the questions about the person"),
    "over": _("through"),
}
RULE_WORDS: dict[str, Any] = {
    "attention_failed": _("attention items missed"),
    "too_fast": _("answers faster than the sound"),
    "straight_lined": _("the same answer in a row"),
    "same_slot": _("the same slot throughout"),
    "inconsistent_repeats": _("repeated questions answered otherwise"),
    "headphones_failed": _("headphone check failed"),
    "incomplete": _("not all items answered"),
    "exposed_before": _("had met items before"),
    "can_read_key": _("can read the key"),
}
QUESTION_WORDS: dict[str, Any] = {
    "age_band": _("How old are you?"),
    "gender": _("What is your gender?"),
    "hearing": _("How well do you hear?"),
    "native_language": _("Which language did you grow up with?"),
    "education": _("What is your highest degree?"),
    "expertise": _("Do you work with feelings or voices (psychology, counselling, acting, phonetics)?"),
}
ANSWER_WORDS: dict[str, Any] = {
    "": _("no answer"),
    "woman": _("woman"),
    "man": _("man"),
    "other": _("other"),
    "no_difficulty": _("without difficulty"),
    "some_difficulty": _("with some difficulty"),
    "hearing_aid": _("with a hearing aid"),
    "en": _("English"),
    "zh": _("Chinese"),
    "school": _("school"),
    "bachelor": _("bachelor"),
    "master": _("master"),
    "doctorate": _("doctorate"),
    "none": _("no"),
    "some": _("somewhat"),
    "professional": _("yes, as my profession"),
}


def demographic_questions(asked: Iterable[str]) -> list[dict[str, Any]]:
    """Each question with its words and the answers offered; without any it is a line to write in."""
    return [
        {
            "name": name,
            "label": QUESTION_WORDS.get(name, name.replace("_", " ").capitalize()),
            "choices": [(value, ANSWER_WORDS.get(value, value)) for value in CHOICES.get(name, ())],
        }
        for name in asked
    ]
