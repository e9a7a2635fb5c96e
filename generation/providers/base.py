"""The contracts of providers: what they are asked and what they give back. Failures are ProviderErrors that decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec, Delivery, Prompt

Queue = Literal["io", "cpu", "gpu"]


@dataclass(frozen=True)
class Usage:
    """What a call took. None where the provider does not say; ``cost`` in US dollars from the price list in settings."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    latency_ms: int | None = None
    cost: Decimal | None = None


@dataclass(frozen=True)
class TextResult:
    """A script that fits the schema it was asked for, as plain data."""

    script: dict[str, Any]
    model: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class VoiceResult:
    """A spoken line. ``audio`` is a whole WAV file; ``parameters`` says how it was made, for provenance."""

    audio: bytes
    model: str
    voice: str
    parameters: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class TranscriptResult:
    """What was heard; ``text`` is empty when nothing was."""

    text: str
    model: str
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class CheckResult:
    """Whether a provider can work now, and in words what is wrong if it cannot."""

    ok: bool
    message: str


class Provider(ABC):
    """What all providers share. ``queue`` is the worker a call belongs to; ``is_fake`` keeps it out of production."""

    queue: ClassVar[Queue] = "io"
    is_fake: ClassVar[bool] = False

    @property
    @abstractmethod
    def model(self) -> str:
        """The name of the model that answers, for provenance and for the cache key."""

    def parameters(self) -> dict[str, Any]:
        """Everything else that shapes an answer; part of the cache key."""
        return {}

    @abstractmethod
    def check(self) -> CheckResult:
        """One cheap call that tells whether the provider works."""


class TextProvider(Provider):
    """Writes scripts."""

    @abstractmethod
    def write(
        self, *, prompt: Prompt, schema: type[BaseModel], seed: int, brief: BriefSpec, ordinal: int, benchmark: str
    ) -> TextResult:
        """Write the script number ``ordinal`` of a brief. The result is valid under ``schema``, or a ProviderError says why not."""


class VoiceProvider(Provider):
    """Speaks lines. The same request gives the same bytes where the model allows it."""

    @abstractmethod
    def voice_for(self, *, gender: str, language: str, index: int) -> str:
        """The voice of speaker ``index`` (0, 1, ...) of a dialogue; different indices get different voices where the pool allows."""

    @abstractmethod
    def speak(self, *, text: str, language: str, gender: str, voice: str, delivery: Delivery, seed: int) -> VoiceResult:
        """Speak ``text`` as ``delivery`` asks and return a WAV."""


class Transcriber(Provider):
    """Writes down what a clip says. ``slack`` is, by language, the share of letters (of Pinyin, for Chinese) it is known
    to mistake on good speech; the quality check allows for it.
    """

    slack: ClassVar[Mapping[str, float]] = {}

    @abstractmethod
    def transcribe(self, *, audio: bytes, language: str) -> TranscriptResult:
        """Transcribe a whole audio file."""
