"""Models that compute in this process, on a worker of the gpu queue: loaded once, one at a time, asked in batches."""

from __future__ import annotations

import gc
import time
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar

from eqstudio.errors import GiveUp, ProviderError
from evaluation.backends.base import Answer
from evaluation.backends.configured import Configured
from evaluation.backends.messages import Message, Part, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eqstudio.benchmarks.base import Trial
    from evaluation.backends.base import Clips


@dataclass(frozen=True)
class Said:
    """What a model made of one question."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    finish_reason: str = ""
    more: dict[str, Any] = field(default_factory=dict)


class TooMuch(Exception):  # noqa: N818 -- named for what happened
    """A batch did not fit into memory, or one question of it could not be asked."""


class LocalBackend(Configured):
    """Puts questions to a model in this process. A subclass loads it and generates.

    A batch that does not fit is asked in halves; a question that cannot be asked by itself fails alone.
    """

    queue: ClassVar = "gpu"
    batch_size: ClassVar = 8
    packages: ClassVar[tuple[str, ...]] = ()
    """What must be installed on the worker, and is told with every answer."""
    _model: Any = None

    @abstractmethod
    def open(self) -> Any:
        """Import the packages, load the weights and return whatever ``generate`` needs. ImportError and OSError are told."""

    @abstractmethod
    def generate(self, model: Any, messages: Sequence[Message]) -> list[Said]:
        """Answer all questions in one go, in their order; TooMuch where that is not possible."""

    def one_clip(self) -> bool:
        """Whether the model takes no more than one clip in a question."""
        return False

    def memory(self) -> dict[str, Any]:
        """What the model holds in memory, for the paradata."""
        return {}

    def load(self) -> None:
        if self._model is not None:
            return
        try:
            self._model = self.open()
        except ImportError as error:
            raise ProviderError(
                f"{self.alias} needs {', '.join(self.packages)} on this worker ({error}). docs/models.md tells how to set one up.",
                cause="client",
                decision=GiveUp(),
            ) from error
        except (OSError, ValueError, RuntimeError) as error:
            raise ProviderError(
                f"{self.model} could not be loaded: {str(error)[:500]}", cause="client", decision=GiveUp()
            ) from error

    def close(self) -> None:
        self._model = None
        gc.collect()

    def answer(self, trial: Trial, clips: Clips) -> Answer:
        found = self.answers([(trial, clips)])[0]
        if isinstance(found, ProviderError):
            raise found
        return found

    def answers(self, asked: Sequence[tuple[Trial, Clips]]) -> list[Answer | ProviderError]:
        self.load()
        put: list[Message | ProviderError] = []
        for trial, clips in asked:
            try:
                message = self.message(trial, clips)
                put.append(_read_once(joined(message, trial.language) if self.one_clip() else message))
            except ProviderError as error:
                put.append(error)
        said = iter(self._generated([message for message in put if isinstance(message, Message)]))
        return [next(said) if isinstance(message, Message) else message for message in put]

    def _generated(self, messages: Sequence[Message]) -> list[Answer | ProviderError]:
        if not messages:
            return []
        began = time.monotonic()
        try:
            found = self.generate(self._model, messages)
        except TooMuch as error:
            if len(messages) > 1:
                middle = len(messages) // 2
                return [*self._generated(messages[:middle]), *self._generated(messages[middle:])]
            return [ProviderError(f"{self.model}: {error}", cause="model", decision=GiveUp())]
        spent = time.monotonic() - began
        return [self._answer(said, spent, len(messages)) for said in found]

    def _answer(self, said: Said, spent: float, batch: int) -> Answer:
        """``latency_ms`` is a question's share of its batch; the batch and its whole time stand beside it."""
        paradata = {
            "model": self.model,
            "latency_ms": round(1000 * spent / batch),
            "batch": batch,
            "batch_ms": round(1000 * spent),
            "finish_reason": said.finish_reason,
            "tokens_in": said.tokens_in,
            "tokens_out": said.tokens_out,
            "packages": versions(self.packages),
            **self.memory(),
            **said.more,
        }
        return Answer(raw=said.text, paradata=paradata)


def conversation(message: Message) -> list[dict[str, Any]]:
    """A question as chat templates want it: texts and places for clips. Every text ends its line."""
    parts = [{"type": "audio"} if part.audio else {"type": "text", "text": f"{part.text}\n"} for part in message.parts]
    system = {"role": "system", "content": [{"type": "text", "text": message.system}]}
    return [system, {"role": "user", "content": parts}]


def versions(packages: Sequence[str]) -> dict[str, str]:
    """The installed versions of packages; those that are not installed are left out."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _read_once(message: Message) -> Message:
    """The bytes of every clip are fetched here, where a missing one spoils no other question."""
    return Message(message.system, tuple(_held(part) for part in message.parts))


def _held(part: Part) -> Part:
    if part.audio is None:
        return part
    data = part.audio.read()
    return Part(audio=replace(part.audio, read=lambda: data))
