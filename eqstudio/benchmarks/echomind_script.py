"""The script of EchoMind: a neutral line, how it is spoken, what follows from it, and replies."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from eqstudio.benchmarks.echomind_questions import ReasoningType
from eqstudio.benchmarks.scripts import Gender, LineText, NameText, NoteText, ScriptPart, TitleText

OptionText = Annotated[LineText, Field(max_length=120)]


class Speaker(ScriptPart):
    name: NameText
    gender: Gender


class Reasoning(ScriptPart):
    """A question whose right answer depends on how the line is spoken; ``script_read`` leaves out one that does not."""

    type: ReasoningType
    question: LineText
    for_target: OptionText
    for_neutral: OptionText
    for_alternative: OptionText
    distractor: OptionText


class Replies(ScriptPart):
    """What a good listener would answer to each delivery."""

    target: LineText
    neutral: LineText
    alternative: LineText


class EchoMindScript(ScriptPart):
    title: TitleText
    topic: NameText
    speaker: Speaker
    line: LineText
    target_instruction: NoteText
    alternative_instruction: NoteText
    reasoning: Annotated[list[Reasoning], Field(min_length=1, max_length=2)]
    replies: Replies
