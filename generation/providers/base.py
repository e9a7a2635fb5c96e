"""The contracts of providers: what they are asked and what they give back. Failures are ProviderErrors that decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec, Delivery, Prompt

Queue = Literal["io", "cpu", "gpu"]

RATE_LIMITED = "rate limited"
"""The cause of a call that the provider put off; its decision says for how long."""
UNREACHABLE = "unreachable"
DROPPED = "dropped"
"""The connection ended before the answer was there."""
NO_CREDIT = "no credit"
NOT_AN_API = "not an API"


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
    """What was heard; ``text`` is empty when nothing was. ``language`` is the one that was spoken, where it is told."""

    text: str
    model: str
    usage: Usage = field(default_factory=Usage)
    language: str = ""


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
    """Writes scripts. One that ``writes_in_stages`` is asked part by part and judges as well; another gets one prompt."""

    writes_in_stages: ClassVar[bool] = False

    def lacks(self, *, benchmark: str, category: str, language: str, count: int) -> str:
        """Why it cannot write so many scripts of a kind, known before it is asked; empty when it can."""
        return ""

    @abstractmethod
    def write(
        self, *, prompt: Prompt, schema: type[BaseModel], seed: int, brief: BriefSpec, ordinal: int, benchmark: str
    ) -> TextResult:
        """Write the script number ``ordinal`` of a brief. The result is valid under ``schema``, or a ProviderError says why not."""


class VoiceProvider(Provider):
    """Speaks lines. The same request gives the same bytes where the model allows it.

    A ``deterministic`` voice pays no heed to the seed; to hear another take of it, the delivery is moved a little.
    """

    deterministic: ClassVar[bool] = False

    @abstractmethod
    def voice_for(self, *, gender: str, language: str, index: int) -> str:
        """The voice of speaker ``index`` (0, 1, ...) of a dialogue; different indices get different voices where the pool allows."""

    @abstractmethod
    def speak(self, *, text: str, language: str, gender: str, voice: str, delivery: Delivery, seed: int) -> VoiceResult:
        """Speak ``text`` as ``delivery`` asks and return a WAV."""


class Transcriber(Provider):
    """Writes down what a clip says. ``own_error`` is the share of words (of characters in Chinese) that it mistakes of good
    speech, by language, as far as that was measured; ``slack`` the share of letters (of Pinyin, for Chinese) within which
    what it mistakes only sounds alike, and the quality check allows for that.
    """

    own_error: ClassVar[Mapping[str, float]] = {}
    slack: ClassVar[Mapping[str, float]] = {}

    @abstractmethod
    def transcribe(self, *, audio: bytes, language: str) -> TranscriptResult:
        """Transcribe a whole audio file."""
