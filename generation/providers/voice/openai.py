"""Any OpenAI-compatible speech endpoint. Delivery goes as words: a model that follows instructions needs no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings

from eqstudio.errors import ProviderError, Retry
from eqstudio.net import Endpoint
from generation.providers.base import CheckResult, Usage, VoiceProvider, VoiceResult
from generation.providers.calls import endpoint_check, sdk_call, stopwatch

if TYPE_CHECKING:
    from eqstudio.benchmarks.base import Delivery

POOL = {
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
        pool = POOL[kind]
        return pool[index % len(pool)]

    def speak(self, *, text: str, language: str, gender: str, voice: str, delivery: Delivery, seed: int) -> VoiceResult:
        """Speak ``text`` under the delivery's instruction. The endpoint takes no seed: only the cache makes it repeatable."""
        what = f"Speaking with {self.model}"
        with stopwatch() as watch:
            answer = sdk_call(
                self.endpoint,
                lambda client: client.audio.speech.create(
                    model=self.model,
                    voice=voice,
                    input=text,
                    instructions=delivery.instruction,
                    response_format="wav",
                ).read(),
                what=what,
            )
        if answer[:4] != b"RIFF":
            raise ProviderError(
                f"{what}: the answer is not a WAV file ({len(answer)} bytes).", cause="not audio", decision=Retry(0)
            )
        return VoiceResult(
            audio=wav_sizes_mended(answer),
            model=self.model,
            voice=voice,
            parameters={"instructions": delivery.instruction},
            usage=Usage(latency_ms=watch.ms),
        )

    def check(self) -> CheckResult:
        return endpoint_check(self.endpoint, self.model, what="Checking the speech endpoint")


def wav_sizes_mended(wav: bytes) -> bytes:
    """A streaming endpoint cannot know the length when it writes the header; put the true sizes in."""
    at = wav.find(b"data", 12)
    if at < 0 or int.from_bytes(wav[at + 4 : at + 8], "little") == len(wav) - at - 8:
        return wav
    mended = bytearray(wav)
    mended[4:8] = (len(wav) - 8).to_bytes(4, "little")
    mended[at + 4 : at + 8] = (len(wav) - at - 8).to_bytes(4, "little")
    return bytes(mended)
