"""Any OpenAI-compatible transcription endpoint."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.conf import settings

from eqstudio.errors import InvalidInput
from eqstudio.net import Endpoint
from generation.providers.base import CheckResult, Transcriber, TranscriptResult, Usage
from generation.providers.calls import call_check, cost, sdk_call, stopwatch, unset
from generation.providers.voice.openai import wav_seconds
from generation.providers.voice.wav import wav_bytes

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
        what = f"Transcribing with {self.model}"
        if not self.model or not self.endpoint.base_url:
            raise InvalidInput(unset(what), field="transcriber")
        name, kind = _NAMES.get(audio[:4], ("clip.mp3", "audio/mpeg"))
        with stopwatch() as watch:
            answer = sdk_call(
                self.endpoint,
                lambda client: client.audio.transcriptions.create(
                    model=self.model, file=(name, audio, kind), language=language
                ),
                what=what,
            )
        told = getattr(answer, "usage", None)
        tokens_in, tokens_out = getattr(told, "input_tokens", None), getattr(told, "output_tokens", None)
        usage = Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            latency_ms=watch.ms,
            cost=cost(self.model, tokens_in=tokens_in, tokens_out=tokens_out, seconds=_seconds(audio, answer)),
        )
        return TranscriptResult(text=answer.text.strip(), model=self.model, usage=usage)

    def check(self) -> CheckResult:
        """Have half a second of nothing transcribed."""
        return call_check(
            self.endpoint,
            self.model,
            lambda client: client.audio.transcriptions.create(
                model=self.model, file=("silence.wav", wav_bytes(np.zeros(8000), 16_000), "audio/wav"), language="en"
            ),
            what="Checking the transcription endpoint",
        )


class ServerTranscriber(OpenAITranscriber):
    """A transcription server of one's own that is spoken to like OpenAI's."""

    @property
    def model(self) -> str:
        return str(settings.VENDORS["transcript-server"]["model"])

    @property
    def endpoint(self) -> Endpoint:
        told = settings.VENDORS["transcript-server"]
        return Endpoint(base_url=told["base_url"], key_env=told["key_env"])

    def parameters(self) -> dict[str, Any]:
        return {"base_url": self.endpoint.base_url}


def _seconds(audio: bytes, answer: Any) -> float | None:
    """For a price per minute: what the answer says, else what the WAV's header says."""
    told = getattr(answer, "duration", None) or getattr(getattr(answer, "usage", None), "seconds", None)
    if told:
        return float(told)
    return wav_seconds(audio) if audio[:4] == b"RIFF" else None
