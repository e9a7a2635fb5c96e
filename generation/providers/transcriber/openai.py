"""Any OpenAI-compatible transcription endpoint."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import soxr
from django.conf import settings

from eqstudio.errors import GiveUp, InvalidInput, ProviderError
from eqstudio.net import Endpoint
from eqstudio.net_json import form_post
from generation.domain.acoustics import mono
from generation.domain.plain_wav import plain_wav
from generation.intake import MAX_SECONDS, audio_decode
from generation.providers.answers import count_told, keepable, seconds_told, unreadable
from generation.providers.base import CheckResult, Transcriber, TranscriptResult, Usage
from generation.providers.calls import call_check, cost, stopwatch, unset
from generation.providers.voice.wav import wav_bytes

RATE = 16_000
"""What every transcription model hears in the end."""
LARGE_BYTES = 20 * 1024 * 1024
"""OpenAI takes 25 MB."""
_LAYER_III = re.compile(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb]")
"""How a bare MP3 begins; an AAC stream says layer 0."""
_WAV = ("clip.wav", "audio/wav")
_KINDS = {b"fLaC": ("clip.flac", "audio/flac"), b"OggS": ("clip.ogg", "audio/ogg"), b"ID3": ("clip.mp3", "audio/mpeg")}


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
        tokens_in, tokens_out = count_told(used.get("input_tokens")), count_told(used.get("output_tokens"))
        seconds = seconds_told(answer.get("duration")) or seconds_told(used.get("seconds"))
        if not seconds and "minute" in settings.PRICES.get(self.model, {}):
            seconds = _length_s(audio)
        usage = Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            latency_ms=watch.ms,
            cost=cost(self.model, tokens_in=tokens_in, tokens_out=tokens_out, seconds=seconds),
        )
        if not keepable(answer["text"]):
            error = unreadable(what, "the transcript holds a NUL or half of a character")
            error.usage = usage
            raise error
        return TranscriptResult(text=answer["text"].strip(), model=self.model, usage=usage)

    def check(self) -> CheckResult:
        """Have half a second of nothing transcribed."""
        what, silence = "Checking the transcription endpoint", wav_bytes(np.zeros(8000), 16_000)
        return call_check(self.endpoint, self.model, lambda small: self._asked(small, silence, "en", what), what=what)

    def _asked(self, endpoint: Endpoint, audio: bytes, language: str, what: str) -> dict[str, Any]:
        fields = {"model": self.model, "language": language}
        answer = form_post(endpoint, "audio/transcriptions", fields, _sent(audio), what=what)
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


def _sent(audio: bytes) -> tuple[str, bytes, str]:
    """Name, bytes and media type of what is sent: the file itself where every such endpoint reads its kind and it is not
    large, else a WAV of the same sound, as a model hears it.
    """
    kind = _kind(audio)
    if kind and len(audio) <= LARGE_BYTES:
        return kind[0], audio, kind[1]
    decoded = audio_decode(data=audio)
    heard = wav_bytes(soxr.resample(mono(decoded.samples), decoded.rate, RATE), RATE)
    if kind and len(heard) >= len(audio):
        return kind[0], audio, kind[1]
    return _WAV[0], heard, _WAV[1]


def _kind(audio: bytes) -> tuple[str, str] | None:
    """Name and media type by the bytes of the file; None for what not every endpoint reads."""
    if audio[:4] == b"RIFF":
        return _WAV if plain_wav(audio, longest_s=MAX_SECONDS) else None
    return _KINDS[b"ID3"] if _LAYER_III.match(audio) else _KINDS.get(audio[:4]) or _KINDS.get(audio[:3])


def _length_s(audio: bytes) -> float | None:
    """For a price per minute where the answer tells no length; what a header says need not be true."""
    try:
        decoded = audio_decode(data=audio)
    except InvalidInput:
        return None
    return len(decoded.samples) / decoded.rate
