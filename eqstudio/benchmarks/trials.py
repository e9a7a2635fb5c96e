"""A question as shown and an answer as read: plain data, stored as JSON, holding nothing that tells the key."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping


History = Literal["own", "gold", "none"]
Order = Literal["answer_first", "rationale_first"]


@dataclass(frozen=True)
class Design:
    """Which variant of the questions is asked.

    ``history``: what is heard before a later question about an item is what the respondent chose (own), the right
    rendition (gold, teacher-forced), or nothing (none, direct). ``order``: where a reason stands. ``tasks``: kinds of
    question, by the names in ``Benchmark.tasks``; empty for those it asks by itself. ``foils``: what was said of the voices
    of other items, for questions that need wrong answers from elsewhere.
    """

    history: History = "own"
    order: Order = "rationale_first"
    tasks: tuple[str, ...] = ()
    foils: tuple[str, ...] = ()


class TrialKind(StrEnum):
    """What sort of answer a trial wants; pages and prompts are chosen by it."""

    CHOICE = "choice"
    GRADE = "grade"
    MCQ = "mcq"
    TRANSCRIBE = "transcribe"
    REPLY = "reply"


@dataclass(frozen=True)
class Segment:
    """A piece of context, heard (``variant``) and or read (``text``) in order."""

    speaker: str
    variant: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Option:
    """One option as shown: ``letter`` is its slot, ``variant`` a clip to hear, ``text`` something to read."""

    letter: str
    variant: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class Trial:
    """One question as shown. Stored whole with the answer; holds nothing that tells the key."""

    key: str
    kind: TrialKind
    category: str
    language: str
    question: str
    scenario: str = ""
    context: tuple[Segment, ...] = ()
    options: tuple[Option, ...] = ()
    scale: tuple[int, int] | None = None
    order: Order = "rationale_first"

    def as_dict(self) -> dict[str, Any]:
        """Plain data; a tenth of the time that ``dataclasses.asdict`` takes."""
        return {
            **vars(self),
            "context": tuple(dict(vars(segment)) for segment in self.context),
            "options": tuple(dict(vars(option)) for option in self.options),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trial:
        return cls(
            **{
                **data,
                "kind": TrialKind(data["kind"]),
                "context": tuple(Segment(**segment) for segment in data["context"]),
                "options": tuple(Option(**option) for option in data["options"]),
                "scale": tuple(data["scale"]) if data["scale"] else None,
            }
        )


class Outcome(StrEnum):
    """What became of a question. Only ANSWERED is scored; the others are counted and shown, never guessed."""

    ANSWERED = "answered"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    ERROR = "error"
    NOT_HEARD = "not_heard"


@dataclass(frozen=True)
class Parsed:
    """What a parser read. ``value`` is a letter, a grade or free text; ``rule`` and ``span`` say how it was found."""

    outcome: Outcome
    value: str | int | None = None
    rule: str = ""
    span: tuple[int, int] | None = None
