"""Qwen3-TTS on the accelerator: named speakers that follow an instruction in words."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from django.conf import settings

from eqstudio.errors import InvalidInput, ProviderError, Retry
from generation.providers.base import CheckResult, Queue, Usage, VoiceProvider, VoiceResult
from generation.providers.calls import stopwatch
from generation.providers.gpu_parts import device_of, gpu_memory, gpu_packages
from generation.providers.voice.wav import wav_bytes

if TYPE_CHECKING:
    from eqstudio.benchmarks.base import Delivery

LANGUAGES = {"en": "English", "zh": "Chinese"}
POOL: dict[tuple[str, str], tuple[str, ...]] = {
    ("en", "male"): ("Ryan", "Aiden"),
    ("en", "female"): ("Serena", "Vivian"),
    ("zh", "male"): ("Uncle_Fu", "Dylan", "Eric"),
    ("zh", "female"): ("Vivian", "Serena"),
}
_WHAT = "Qwen3-TTS"


class Qwen3Voice(VoiceProvider):
    queue: ClassVar[Queue] = "gpu"

    @property
    def model(self) -> str:
        return str(settings.VENDOR_DETAILS["qwen3_tts_model"])

    def voice_for(self, *, gender: str, language: str, index: int) -> str:
        kind = "male" if gender.lower().startswith("m") else "female"
        pool = POOL[(language if language in LANGUAGES else "en", kind)]
        return pool[index % len(pool)]

    def speak(self, *, text: str, language: str, gender: str, voice: str, delivery: Delivery, seed: int) -> VoiceResult:
        """Speak ``text`` under the delivery's instruction; the sampler is seeded, so the same machine says it alike."""
        if language not in LANGUAGES:
            raise InvalidInput(f"{_WHAT} is asked for English and Chinese here, not {language!r}.", field="language")
        torch, network = load(self.model)
        with stopwatch() as watch, gpu_memory(torch, _WHAT):
            torch.manual_seed(seed)
            spoken, rate = network.generate_custom_voice(
                text=text, language=LANGUAGES[language], speaker=voice, instruct=delivery.instruction
            )
        samples = np.asarray(spoken[0], dtype=np.float64).reshape(-1)
        if not samples.size:
            raise ProviderError(f"{_WHAT} said nothing.", cause="nothing said", decision=Retry(0))
        return VoiceResult(
            audio=wav_bytes(samples, int(rate)),
            model=self.model,
            voice=voice,
            parameters={"instructions": delivery.instruction, "seed": seed},
            usage=Usage(latency_ms=watch.ms),
        )

    def check(self) -> CheckResult:
        """Load the network; its weights are the expensive part."""
        try:
            load(self.model)
        except ProviderError as error:
            return CheckResult(ok=False, message=error.message)
        return CheckResult(ok=True, message=f"{_WHAT} is loaded.")


@cache
def load(name: str) -> tuple[Any, Any]:
    """Torch and the network, once per process."""
    with gpu_packages(_WHAT):
        import torch  # noqa: PLC0415 -- slow import
        from qwen_tts import Qwen3TTSModel  # noqa: PLC0415 -- slow import

        device = device_of(torch, _WHAT)
        return torch, Qwen3TTSModel.from_pretrained(name, device_map=device, dtype=torch.bfloat16)
