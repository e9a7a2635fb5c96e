"""The one answer parser: reads a letter, a grade or a text, or says that there is none. It never guesses."""

from __future__ import annotations

from eqstudio.benchmarks.parsing_grades import grade_read
from eqstudio.benchmarks.parsing_json import FieldValue, field_values, text_field
from eqstudio.benchmarks.parsing_letters import letter_read
from eqstudio.benchmarks.parsing_text import Folded, Reading, is_refusal
from eqstudio.benchmarks.trials import Outcome, Parsed, Trial, TrialKind

PARSER_VERSION = "3"

_LETTER_FIELDS = ("selected", "answer", "final_answer", "choice", "selected_option", "option", "prediction", "letter")
_GRADE_FIELDS = ("score", "grade", "rating", *_LETTER_FIELDS, "评分", "分数", "得分")
_TEXT_FIELDS = ("answer", "reply", "response", "transcript", "transcription", "text")


def answer_parse(trial: Trial, raw: str) -> Parsed:
    """Read what ``trial`` asks for from ``raw``.

    Levels in order: a JSON field, the last explicit answer, a boxed answer, a line that is nothing but the answer, a plain
    statement or the unique text or ordinal of an option. Two different answers on one level are no answer.
    """
    if trial.kind in (TrialKind.TRANSCRIBE, TrialKind.REPLY):
        return _text(raw)
    folded = Folded.of(raw)
    fields = _GRADE_FIELDS if trial.scale and trial.kind is TrialKind.GRADE else _LETTER_FIELDS
    found = field_values(folded, fields)
    reading = _from_fields(trial, found) if found else _read(trial, folded)
    if reading.value is not None:
        return Parsed(Outcome.ANSWERED, reading.value, reading.rule, folded.original_span(reading.span))
    if not reading.seen and is_refusal(folded.text):
        return Parsed(Outcome.REFUSED, rule="refusal")
    return Parsed(Outcome.UNPARSED, rule=reading.rule)


def _read(trial: Trial, folded: Folded) -> Reading:
    if trial.kind is TrialKind.GRADE:
        return grade_read(folded.text, trial.scale) if trial.scale else Reading()
    return letter_read(folded.text, trial.options)


def _from_fields(trial: Trial, found: list[FieldValue]) -> Reading:
    """All readable fields must say the same; a field that is there but cannot be read is no answer."""
    readings = []
    for field in found:
        part = _read(trial, Folded.of(field.text))
        if part.value is not None:
            readings.append(Reading(value=part.value, rule=f"json:{field.name}"[:40], span=field.span, seen=True))
    if len({reading.value for reading in readings}) == 1:
        return readings[0]
    refused = not readings and any(is_refusal(field.text) for field in found)
    return Reading(rule="json", seen=not refused)


def _text(raw: str) -> Parsed:
    plain = Folded.plain(raw)
    field = text_field(plain, _TEXT_FIELDS)
    if field is not None:
        value, rule, span = field.text.strip(), f"json:{field.name}", plain.original_span(field.span)
    else:
        value, rule, span = plain.text.strip(), "whole", (0, len(plain.text))
    return Parsed(Outcome.ANSWERED, value, rule, span) if value else Parsed(Outcome.UNPARSED, rule="empty")
