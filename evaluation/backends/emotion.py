"""The cascade: a recogniser hears, a language model reads what it heard beside the words, and chooses."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings

from evaluation.backends import recognisers
from evaluation.backends.base import ClipAudio, Evaluator

if TYPE_CHECKING:
    from evaluation.backends.recogniser import Recogniser

KEPT = 4096


class InWords(Evaluator):
    """What is heard in words: pleasant, stirred up, in control."""

    alias: ClassVar = "ser_llm"

    def __init__(self) -> None:
        self._heard: dict[str, dict[str, float]] = {}

    @property
    def recogniser(self) -> Recogniser:
        return recogniser_held(settings.EXAM_RECOGNISER, settings.EXAM_RECOGNISER_MODEL)

    @property
    def queue(self) -> str:
        return self.recogniser.queue

    @property
    def is_fake(self) -> bool:
        return self.recogniser.is_fake

    def parameters(self) -> dict[str, Any]:
        return {"recogniser": self.recogniser.alias, "recogniser_model": self.recogniser.model}

    def check(self) -> None:
        """An unknown recogniser is told before the first question; its weights are looked for on the worker."""
        _ = self.recogniser

    def audio(self, clip: ClipAudio) -> ClipAudio | None:  # noqa: ARG002 -- the model does not listen
        return None

    def words(self, clip: ClipAudio, language: str) -> str:
        told = self.told(self._numbers(clip), language)
        return f"{clip.text} （声音：{told}）" if language == "zh" else f"{clip.text} (voice: {told})"

    def told(self, numbers: dict[str, float], language: str) -> str:
        return self.recogniser.words(numbers, language)

    def _numbers(self, clip: ClipAudio) -> dict[str, float]:
        if clip.variant not in self._heard:
            if len(self._heard) >= KEPT:
                self._heard.clear()
            self._heard[clip.variant] = self.recogniser.numbers(clip.read())
        return self._heard[clip.variant]


class InNumbers(InWords):
    """What is heard in bare numbers."""

    alias: ClassVar = "ser_raw_llm"

    def told(self, numbers: dict[str, float], language: str) -> str:  # noqa: ARG002 -- numbers are the same everywhere
        return ", ".join(f"{name} {value:.2f}" for name, value in numbers.items())


@lru_cache(maxsize=2)
def recogniser_held(alias: str, model: str) -> Recogniser:
    """The recogniser of this process: its weights are loaded once."""
    return recognisers.get(alias)(model)
