"""The embedded voice: Kokoro speaks plainly, WORLD gives the delivery, loudness is set last. No key, no network."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from eqstudio.errors import GiveUp, InvalidInput, ProviderError
from generation.domain.level import TARGET_LUFS
from generation.providers.base import CheckResult, Queue, Usage, VoiceProvider, VoiceResult
from generation.providers.voice.kokoro import RATE, kokoro, to_phonemes
from generation.providers.voice.level import levelled
from generation.providers.voice.wav import wav_bytes
from generation.providers.voice.world import deliver

if TYPE_CHECKING:
    from eqstudio.benchmarks.base import Delivery

LANGUAGES = ("en", "zh")
TONE_RANGE_FLOOR = 0.6
"""Mandarin tells words apart by pitch: flattened below this, it stops being understood."""


@dataclass(frozen=True)
class Timbre:
    """A style of the network, moved by ``pitch`` semitones to sound like somebody else."""

    style: str
    pitch: float = 0.0


POOL: dict[tuple[str, str], tuple[str, ...]] = {
    ("en", "male"): ("jm_kumo", "jm_kumo-light"),
    ("en", "female"): ("jf_nezumi", "jf_gongitsune"),
    ("zh", "male"): ("jm_kumo", "jm_kumo-light"),
    ("zh", "female"): ("jf_nezumi", "jf_nezumi-deep"),
}
TIMBRES = {
    "jm_kumo": Timbre("jm_kumo"),
    "jm_kumo-light": Timbre("jm_kumo", 3.0),
    "jf_nezumi": Timbre("jf_nezumi"),
    "jf_nezumi-deep": Timbre("jf_nezumi", -2.5),
    "jf_gongitsune": Timbre("jf_gongitsune"),
}


class LocalVoice(VoiceProvider):
    queue: ClassVar[Queue] = "cpu"
    deterministic: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return "kokoro-82m-int8+world"

    def parameters(self) -> dict[str, Any]:
        return {"target_lufs": TARGET_LUFS, "tone_range_floor": TONE_RANGE_FLOOR, "front_end": "misaki-0.9.4"}

    def voice_for(self, *, gender: str, language: str, index: int) -> str:
        kind = "male" if gender.lower().startswith("m") else "female"
        pool = POOL[(language if language in LANGUAGES else "en", kind)]
        return pool[index % len(pool)]

    def speak(self, *, text: str, language: str, gender: str, voice: str, delivery: Delivery, seed: int) -> VoiceResult:
        """Speak ``text``. Deterministic: ``seed`` changes nothing, and the same request gives the same bytes."""
        timbre = TIMBRES.get(voice)
        if timbre is None:
            raise InvalidInput(
                f"The embedded voice has no {voice!r}. It has: {', '.join(sorted(TIMBRES))}.", field="voice"
            )
        if language not in LANGUAGES:
            raise InvalidInput(f"The embedded voice speaks English and Chinese, not {language!r}.", field="language")
        started = time.monotonic()
        sounds = to_phonemes(text, language)
        if not any(char.isalpha() for char in sounds):
            raise ProviderError(
                f"The embedded voice finds nothing to say in {text[:60]!r}.", cause="nothing to say", decision=GiveUp()
            )
        shift = timbre.pitch + delivery.pitch
        spread = max(TONE_RANGE_FLOOR, delivery.pitch_range) if language == "zh" else delivery.pitch_range
        plain = kokoro().speak(sounds, timbre.style)
        moved = deliver(plain, RATE, pitch=shift, pitch_range=spread, speed=delivery.rate)
        samples, short_db = levelled(moved, RATE, volume=delivery.volume)
        took = time.monotonic() - started
        parameters = {
            "style": timbre.style,
            "base_pitch": timbre.pitch,
            "pitch": shift,
            "pitch_range": spread,
            "rate": delivery.rate,
            "volume": delivery.volume,
            "short_of_level_db": round(short_db, 2),
            "phonemes": sounds,
        }
        return VoiceResult(
            audio=wav_bytes(samples, RATE),
            model=self.model,
            voice=voice,
            parameters=parameters,
            usage=Usage(latency_ms=math.ceil(1000 * took)),
        )

    def check(self) -> CheckResult:
        """Load the network and say one syllable's worth of phonemes."""
        try:
            network = kokoro()
            sounds = to_phonemes("Yes.", "en")
        except ProviderError as error:
            return CheckResult(ok=False, message=error.message)
        lacking = {timbre.style for timbre in TIMBRES.values()} - network.voices
        if lacking:
            return CheckResult(ok=False, message=f"The voice pack lacks {', '.join(sorted(lacking))}.")
        return CheckResult(ok=bool(network.speak(sounds, "jm_kumo").size), message="The embedded voice speaks.")
