"""A transcriber that remembers what the fake voice said, and hears nothing in anything else."""

from __future__ import annotations

from typing import ClassVar

from django.core.cache import cache

from generation.providers.base import CheckResult, Transcriber, TranscriptResult, Usage
from generation.providers.scripted import Scripted
from generation.providers.voice.fake import heard_key

RUBBISH = "thank you for watching thank you for watching"


class FakeTranscriber(Scripted, Transcriber):
    is_fake: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return "fake-transcriber-1"

    def transcribe(self, *, audio: bytes, language: str) -> TranscriptResult:
        rubbish = self._behave(heard_key(audio))
        text = RUBBISH if rubbish else cache.get(heard_key(audio), "")
        return TranscriptResult(text=text, model=self.model, usage=Usage(latency_ms=1))

    def check(self) -> CheckResult:
        return CheckResult(ok=True, message="A fake: it recalls what the fake voice said.")
