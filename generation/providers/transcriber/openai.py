"""Any OpenAI-compatible transcription endpoint."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from eqstudio.net import Endpoint
from generation.providers.base import CheckResult, Transcriber, TranscriptResult, Usage
from generation.providers.calls import cost, endpoint_check, sdk_call, stopwatch

_NAMES = {b"RIFF": ("clip.wav", "audio/wav"), b"fLaC": ("clip.flac", "audio/flac"), b"OggS": ("clip.ogg", "audio/ogg")}


class OpenAITranscriber(Transcriber):
    @property
    def model(self) -> str:
        return str(settings.TRANSCRIBER_MODEL)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(base_url=settings.TRANSCRIBER_BASE_URL, key_env=settings.TRANSCRIBER_KEY_ENV)

    def parameters(self) -> dict[str, Any]:
        return {"base_url": settings.TRANSCRIBER_BASE_URL}

    def transcribe(self, *, audio: bytes, language: str) -> TranscriptResult:
        name, kind = _NAMES.get(audio[:4], ("clip.mp3", "audio/mpeg"))
        with stopwatch() as watch:
            answer = sdk_call(
                self.endpoint,
                lambda client: client.audio.transcriptions.create(
                    model=self.model, file=(name, audio, kind), language=language
                ),
                what=f"Transcribing with {self.model}",
            )
        told = getattr(answer, "usage", None)
        tokens_in, tokens_out = getattr(told, "input_tokens", None), getattr(told, "output_tokens", None)
        usage = Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            latency_ms=watch.ms,
            cost=cost(self.model, tokens_in=tokens_in, tokens_out=tokens_out),
        )
        return TranscriptResult(text=answer.text.strip(), model=self.model, usage=usage)

    def check(self) -> CheckResult:
        return endpoint_check(self.endpoint, self.model, what="Checking the transcription endpoint")
