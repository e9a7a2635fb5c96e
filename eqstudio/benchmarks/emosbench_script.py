"""The script of EmoSBench: what a user says, how, and four responses."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from eqstudio.benchmarks.scripts import (
    Gender,
    Level,
    LineText,
    NameText,
    NoteText,
    Pace,
    ScriptPart,
    TitleText,
    same_words,
)

Emotion = Literal["neutral", "warm", "calm", "happy", "sad", "angry", "fearful", "surprised", "disgusted"]
NonVerbal = Literal["none", "cough", "sigh", "laughter", "sneeze", "gasp"]


class Person(ScriptPart):
    name: NameText
    role: NameText
    gender: Gender


class Line(ScriptPart):
    """Words and how they are said."""

    text: LineText
    emotion: Emotion
    volume: Level
    rate: Pace
    pitch: Level
    non_verbal: NonVerbal


class Exchange(ScriptPart):
    """An earlier turn of the user and what the responder said to it."""

    user: Line
    responder: Line


class Response(Line):
    rationale: Annotated[NoteText, Field(description="Why this response deserves its grade.")]


class EmoSBenchScript(ScriptPart):
    """What a user says, after up to two earlier exchanges, and four responses, one for every grade."""

    title: TitleText
    context: NoteText
    user: Person
    responder: Person
    opening: Annotated[list[Exchange], Field(max_length=2)]
    user_line: Line
    grade_1: Response
    grade_2: Response
    grade_3: Response
    grade_4: Response

    @model_validator(mode="after")
    def parts_differ(self) -> Self:
        if same_words(self.user.name, self.responder.name):
            raise ValueError("The user and the responder need different names.")
        for first, second in combinations(self.responses(), 2):
            if same_words(first.text, second.text):
                raise ValueError("The four responses must differ in their words.")
        return self

    def responses(self) -> tuple[Response, Response, Response, Response]:
        return (self.grade_1, self.grade_2, self.grade_3, self.grade_4)
