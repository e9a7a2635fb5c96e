"""What a backend is: it is given a question as shown and the clips in it, and answers in its own words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from eqstudio.benchmarks.base import Design, Trial
from eqstudio.errors import ProviderError


@dataclass(frozen=True)
class ClipAudio:
    """One clip of a question. ``read`` fetches the bytes; nothing here tells which rendition it is."""

    variant: str
    text: str
    media_type: str
    duration: float
    loudness: float | None
    pitch: float | None
    read: Callable[[], bytes]
    other: Callable[[], ClipAudio | None] | None = None
    """A clip of another item of the exam, always the same one for this clip; None where there is none."""


@dataclass(frozen=True)
class Answer:
    """``raw`` as given. ``failure`` is ``refused`` or ``error`` where there is none, ``error`` says why. ``sound`` is a spoken
    reply in base64, whose words are ``raw``; whoever stores the answer keeps it by ``reply_kept``.
    """

    raw: str
    failure: str = ""
    error: str = ""
    paradata: dict[str, Any] = field(default_factory=dict)
    sound: str = ""


@dataclass(frozen=True)
class Exam:
    """What a backend is told once: the instructions by language, and a seed for what it draws."""

    instructions: dict[str, str]
    seed: int = 0


Clips = Callable[[str], ClipAudio]


class Evaluator(ABC):
    """How a question is put: which variants of it are asked, what is heard, what is read, what is told before."""

    alias: ClassVar[str]
    elsewhere: ClassVar[bool] = False
    """Whether it asks clips for ``other`` ones, which must then be read with them."""
    control: ClassVar[bool] = False
    """Whether its runs only show what the plain exam owes to the sound, the order or the role: they are held against the plain
    run and are no systems of their own, so no norm rests on them."""

    @property
    def queue(self) -> str:
        """``gpu`` where it computes with a model of its own; the run then goes to those workers."""
        return "io"

    @property
    def is_fake(self) -> bool:
        """Whether what is put in place of the sound is made up; refused in production."""
        return False

    def parameters(self) -> dict[str, Any]:
        """Everything of its own that shapes an answer, for the RunSpec."""
        return {}

    def check(self) -> None:
        """Raise InvalidInput when something is missing that every question would need."""
        return

    def design(self, design: Design) -> Design:
        """How the study's questions are asked by this evaluator."""
        return design

    def trial(self, trial: Trial) -> Trial:
        """The question as this evaluator asks and stores it."""
        return trial

    def instructions(self, text: str, trial: Trial) -> str:  # noqa: ARG002 -- a persona looks at the question
        """What is told before the question; ``text`` is the study's own."""
        return text

    def words(self, clip: ClipAudio, language: str) -> str:  # noqa: ARG002 -- a recogniser speaks the language of the item
        """What is read where ``audio`` gives nothing to hear."""
        return clip.text

    @abstractmethod
    def audio(self, clip: ClipAudio) -> ClipAudio | None:
        """The clip to be heard in place of ``clip``; None to hear nothing and read its words."""


class Backend(ABC):
    """One kind of respondent. May raise ProviderError, whose decision says whether to ask again.

    ``load`` is called once in a process before the first answer, ``close`` after the last.
    """

    alias: ClassVar[str]
    kind: ClassVar[str] = "rule"
    queue: ClassVar[str] = "io"
    """Which workers run it: ``io`` (it waits for somebody else) or ``gpu`` (it computes; one model at a time)."""
    concurrency: ClassVar[int] = 1
    """How many ``answer`` calls may be in flight at once, each in a thread of its own."""
    batch_size: ClassVar[int] = 0
    """Above 0 ``answers`` is called instead of ``answer``, with this many questions at most."""
    is_fake: ClassVar[bool] = False

    def __init__(self, exam: Exam, evaluator: Evaluator) -> None:
        self.exam = exam
        self.evaluator = evaluator

    @property
    def model(self) -> str:
        """The model as configured; what the provider resolved it to goes into the paradata of each answer."""
        return self.alias

    def parameters(self) -> dict[str, Any]:
        """Everything that shapes an answer, for the RunSpec."""
        return {}

    def check(self) -> None:
        """Raise InvalidInput when something is missing that every answer would need."""
        return

    def load(self) -> None:
        """Bring the model into memory. Heavy packages are imported here."""
        return

    def close(self) -> None:
        """Let go of the model and of open connections."""
        return

    @abstractmethod
    def answer(self, trial: Trial, clips: Clips) -> Answer:
        """Answer one question."""

    def answers(self, asked: Sequence[tuple[Trial, Clips]]) -> list[Answer | ProviderError]:
        """Answer several questions at once, in their order; the error of one stands in its place and spoils no other."""
        found: list[Answer | ProviderError] = []
        for trial, clips in asked:
            try:
                found.append(self.answer(trial, clips))
            except ProviderError as error:
                found.append(error)
        return found


def variants_in(trial: Trial) -> list[str]:
    """Variants to be heard, in the order shown."""
    return [
        uid for uid in (*(part.variant for part in trial.context), *(part.variant for part in trial.options)) if uid
    ]
