"""A voice that hums: bursts of harmonics, one per syllable, whose pitch, range, rate and level follow the delivery."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from django.core.cache import cache

from generation.providers.base import CheckResult, Usage, VoiceProvider, VoiceResult
from generation.providers.scripted import Scripted
from generation.providers.voice.wav import PEAK_LIMIT, wav_bytes

if TYPE_CHECKING:
    import numpy.typing as npt

    from eqstudio.benchmarks.base import Delivery

RATE = 16_000
SYLLABLE_S = 0.17
PAUSE_S = 0.22
EDGE_S = 0.06
SPREAD_ST = 2.0
LEVEL_DB = -24.0
HARMONICS = 10
POOL = {"male": (104.0, 128.0, 117.0), "female": (196.0, 226.0, 210.0)}


class FakeVoice(Scripted, VoiceProvider):
    is_fake: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return "fake-voice-1"

    def voice_for(self, *, gender: str, language: str, index: int) -> str:
        kind = "male" if gender.lower().startswith("m") else "female"
        return f"{kind}-{index % len(POOL[kind])}"

    def speak(self, *, text: str, language: str, gender: str, voice: str, delivery: Delivery, seed: int) -> VoiceResult:
        """Hum ``text``. The cache remembers what was said, so that the fake transcriber can tell. Rubbish is not audio."""
        rubbish = self._behave(text)
        audio = b"not a sound" if rubbish else wav_bytes(hum(text, voice, delivery, seed), RATE)
        cache.set(heard_key(audio), text, timeout=None)
        return VoiceResult(
            audio=audio, model=self.model, voice=voice, parameters={"seed": seed}, usage=Usage(latency_ms=1)
        )

    def check(self) -> CheckResult:
        return CheckResult(ok=True, message="A fake: it hums instead of speaking.")


def heard_key(audio: bytes) -> str:
    """Where the cache keeps what a fake clip says."""
    return f"fake-voice:{hashlib.sha256(audio).hexdigest()}"


def hum(text: str, voice: str, delivery: Delivery, seed: int) -> npt.NDArray[np.float64]:
    """The samples of a hummed line; its length grows with the text."""
    kind, _, index = voice.rpartition("-")
    pool = POOL.get(kind, POOL["female"])
    base = pool[int(index) % len(pool) if index.isdigit() else 0] * 2 ** (delivery.pitch / 12)
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(f"{text}|{seed}".encode()).digest()[:8], "big"))
    silence = np.zeros(round(EDGE_S * RATE))
    pieces = [silence]
    for words in _phrases(text):
        steps = rng.normal(0, SPREAD_ST * delivery.pitch_range, words)
        pieces.append(_phrase(base, steps, SYLLABLE_S / delivery.rate, rng, _colour(voice)))
        pieces.append(np.zeros(round(PAUSE_S / delivery.rate * RATE)))
    pieces[-1] = silence
    samples = np.concatenate(pieces)
    level = np.sqrt(np.mean(samples**2)) or 1.0
    samples = samples * 10 ** ((LEVEL_DB + delivery.volume) / 20) / level
    return np.asarray(samples * min(1.0, PEAK_LIMIT / np.abs(samples).max()))


def _phrases(text: str) -> list[int]:
    """Syllables per phrase, roughly: a Chinese character each, three Latin letters each."""
    counts, latin, syllables = [], 0, 0
    for char in text + ".":
        if char.isalnum():
            syllables += char >= "\u4e00"
            latin += char < "\u4e00"
        elif char in ".,;:!?，。；：！？":
            total = syllables + -(-latin // 3)
            if total:
                counts.append(total)
            latin = syllables = 0
    return counts or [1]


def _colour(voice: str) -> npt.NDArray[np.float64]:
    """The strength of the harmonics, by which one voice is known from another."""
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(voice.encode()).digest()[:8], "big"))
    return np.asarray(10 ** (rng.uniform(-0.6, 0.6, HARMONICS)) / np.arange(1, HARMONICS + 1))


def _phrase(
    base: float,
    steps: npt.NDArray[np.float64],
    syllable_s: float,
    rng: np.random.Generator,
    colour: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    length = max(1, round(syllable_s * RATE))
    drift = np.linspace(0.5, -0.5, steps.size * length)
    glide = np.convolve(np.repeat(steps, length), np.ones(length) / length, mode="same")
    phase = 2 * np.pi * np.cumsum(base * 2 ** ((glide + drift) / 12)) / RATE
    voice = sum(strength * np.sin(k * phase) for k, strength in enumerate(colour, start=1))
    envelope = np.tile(np.sin(np.linspace(0, np.pi, length)) ** 0.5, steps.size)
    loud = np.repeat(rng.uniform(0.7, 1.0, steps.size), length)
    return np.asarray(voice * envelope * loud)
