"""Any OpenAI-compatible speech endpoint. Delivery goes as words: a model that follows instructions needs no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings

from eqstudio.errors import InvalidInput, ProviderError, Retry
from eqstudio.net import Endpoint
from eqstudio.net_json import bytes_post
from generation.providers.base import CheckResult, Usage, VoiceProvider, VoiceResult
from generation.providers.calls import call_check, cost, stopwatch, unset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eqstudio.benchmarks.base import Delivery

POOL: dict[str, Sequence[str]] = {
    "male": ("ash", "ballad", "echo", "verse", "cedar"),
    "female": ("coral", "shimmer", "sage", "nova", "marin"),
    "neutral": ("alloy", "fable", "onyx"),
}


class OpenAIVoice(VoiceProvider):
    @property
    def model(self) -> str:
        return str(settings.VOICE_MODEL)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(base_url=settings.VOICE_BASE_URL, key_env=settings.VOICE_KEY_ENV)

    def parameters(self) -> dict[str, Any]:
        return {"base_url": settings.VOICE_BASE_URL, "response_format": "wav"}

    def voice_for(self, *, gender: str, language: str, index: int) -> str:
        initial = gender.lower()[:1]
        kind = {"m": "male", "f": "female", "w": "female"}.get(initial, "neutral")
        pool = self.pool.get(kind) or next(iter(self.pool.values()))
        return pool[index % len(pool)]

    @property
    def pool(self) -> dict[str, Sequence[str]]:
        """The voices by kind of speaker."""
        return POOL

    def speak(self, *, text: str, language: str, gender: str, voice: str, delivery: Delivery, seed: int) -> VoiceResult:
        """Speak ``text`` under the delivery's instruction. The endpoint takes no seed: only the cache makes it repeatable."""
        what = f"Speaking with {self.model}"
        if not self.model or not self.endpoint.base_url:
            raise InvalidInput(unset(what), field="voice")
        with stopwatch() as watch:
            answer = self._asked(self.endpoint, what, voice=voice, input=text, instructions=delivery.instruction)
        if answer[:4] != b"RIFF":
            raise ProviderError(
                f"{what}: the answer is not a WAV file ({len(answer)} bytes).", cause="not audio", decision=Retry(0)
            )
        audio = wav_sizes_mended(answer)
        return VoiceResult(
            audio=audio,
            model=self.model,
            voice=voice,
            parameters={"instructions": delivery.instruction},
            usage=Usage(latency_ms=watch.ms, cost=cost(self.model, characters=len(text), seconds=wav_seconds(audio))),
        )

    def check(self) -> CheckResult:
        """Have one word spoken."""
        what, voice = "Checking the speech endpoint", self.voice_for(gender="", language="en", index=0)
        return call_check(
            self.endpoint,
            self.model,
            lambda small: self._asked(small, what, voice=voice, input="Yes."),
            what=what,
        )

    def _asked(self, endpoint: Endpoint, what: str, **asked: str) -> bytes:
        body = {"model": self.model, **asked, "response_format": "wav"}
        return bytes_post(endpoint, "audio/speech", body, what=what)


class ServerVoice(OpenAIVoice):
    """A speech server of one's own that is spoken to like OpenAI's; its voices are a setting."""

    @property
    def model(self) -> str:
        return str(settings.VENDORS["speech-server"]["model"])

    @property
    def endpoint(self) -> Endpoint:
        told = settings.VENDORS["speech-server"]
        return Endpoint(base_url=told["base_url"], key_env=told["key_env"])

    def parameters(self) -> dict[str, Any]:
        return {"base_url": self.endpoint.base_url, "response_format": "wav"}

    @property
    def pool(self) -> dict[str, Sequence[str]]:
        return dict(settings.VENDOR_DETAILS["speech_server_voices"])


def wav_seconds(wav: bytes) -> float | None:
    """How long a WAV says it is, for its price; None when its header cannot be read."""
    at = wav.find(b"data", 12)
    per_second = int.from_bytes(wav[28:32], "little")
    return int.from_bytes(wav[at + 4 : at + 8], "little") / per_second if at > 0 and per_second else None


def wav_sizes_mended(wav: bytes) -> bytes:
    """A streaming endpoint cannot know the length when it writes the header; put the true sizes in."""
    at = wav.find(b"data", 12)
    if at < 0 or int.from_bytes(wav[at + 4 : at + 8], "little") == len(wav) - at - 8:
        return wav
    mended = bytearray(wav)
    mended[4:8] = (len(wav) - 8).to_bytes(4, "little")
    mended[at + 4 : at + 8] = (len(wav) - at - 8).to_bytes(4, "little")
    return bytes(mended)
