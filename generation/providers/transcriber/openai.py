"""Any OpenAI-compatible transcription endpoint."""

from __future__ import annotations

from typing import Any

import numpy as np
from django.conf import settings

from eqstudio.errors import GiveUp, InvalidInput, ProviderError
from eqstudio.net import Endpoint
from eqstudio.net_json import form_post
from generation.providers.base import CheckResult, Transcriber, TranscriptResult, Usage
from generation.providers.calls import call_check, cost, stopwatch, unset
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
        with stopwatch() as watch:
            answer = self._asked(self.endpoint, audio, language, what)
        told = answer.get("usage")
        used = told if isinstance(told, dict) else {}
        tokens_in, tokens_out = used.get("input_tokens"), used.get("output_tokens")
        seconds = answer.get("duration") or used.get("seconds")
        usage = Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            latency_ms=watch.ms,
            cost=cost(self.model, tokens_in=tokens_in, tokens_out=tokens_out, seconds=_seconds(audio, seconds)),
        )
        return TranscriptResult(text=answer["text"].strip(), model=self.model, usage=usage)

    def check(self) -> CheckResult:
        """Have half a second of nothing transcribed."""
        what, silence = "Checking the transcription endpoint", wav_bytes(np.zeros(8000), 16_000)
        return call_check(self.endpoint, self.model, lambda small: self._asked(small, silence, "en", what), what=what)

    def _asked(self, endpoint: Endpoint, audio: bytes, language: str, what: str) -> dict[str, Any]:
        name, kind = _NAMES.get(audio[:4], ("clip.mp3", "audio/mpeg"))
        fields = {"model": self.model, "language": language}
        answer = form_post(endpoint, "audio/transcriptions", fields, (name, audio, kind), what=what)
        if not isinstance(answer.get("text"), str):
            raise ProviderError(f"{what}: the answer holds no text.", cause="unreadable", decision=GiveUp())
        return answer


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


def _seconds(audio: bytes, told: float | str | None) -> float | None:
    """For a price per minute: what the answer says, else what the WAV's header says."""
    if told:
        return float(told)
    return wav_seconds(audio) if audio[:4] == b"RIFF" else None
