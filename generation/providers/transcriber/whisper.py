"""Whisper large-v3 on the accelerator, through the transformers pipeline."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

import numpy as np
import soxr
from django.conf import settings

from eqstudio.errors import ProviderError
from generation.domain.acoustics import mono
from generation.intake import audio_decode
from generation.providers.base import CheckResult, Queue, Transcriber, TranscriptResult, Usage
from generation.providers.calls import stopwatch
from generation.providers.gpu_parts import device_of, gpu_memory, gpu_packages

RATE = 16_000
LONG_S = 30
"""Whisper hears half a minute at a time; what is longer is heard with time stamps."""
_WHAT = "Whisper"


class WhisperLarge(Transcriber):
    queue: ClassVar[Queue] = "gpu"

    @property
    def model(self) -> str:
        return str(settings.VENDOR_DETAILS["whisper_model"])

    def parameters(self) -> dict[str, Any]:
        return {"task": "transcribe", "temperature": 0.0}

    def transcribe(self, *, audio: bytes, language: str) -> TranscriptResult:
        decoded = audio_decode(data=audio)
        samples = np.asarray(soxr.resample(mono(decoded.samples), decoded.rate, RATE), dtype=np.float32)
        torch, pipe = load(self.model)
        with stopwatch() as watch, gpu_memory(torch, _WHAT):
            heard = pipe(
                {"raw": samples, "sampling_rate": RATE},
                return_timestamps=samples.size > LONG_S * RATE,
                generate_kwargs={"task": "transcribe", "language": language, "temperature": 0.0},
            )
        return TranscriptResult(text=str(heard["text"]).strip(), model=self.model, usage=Usage(latency_ms=watch.ms))

    def check(self) -> CheckResult:
        """Load the network; its weights are the expensive part."""
        try:
            load(self.model)
        except ProviderError as error:
            return CheckResult(ok=False, message=error.message)
        return CheckResult(ok=True, message=f"{_WHAT} is loaded.")


@cache
def load(name: str) -> tuple[Any, Any]:
    """Torch and the pipeline, once per process."""
    with gpu_packages(_WHAT):
        import torch  # noqa: PLC0415 -- slow import
        from transformers import pipeline  # noqa: PLC0415 -- slow import

        device = device_of(torch, _WHAT)
        return torch, pipeline("automatic-speech-recognition", model=name, dtype=torch.float16, device=device)
