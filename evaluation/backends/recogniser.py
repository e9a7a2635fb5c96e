"""Who tells the feeling in a voice to a model that cannot hear: a recogniser turns a clip into numbers, and those into words."""

from __future__ import annotations

import threading
import zlib
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from eqstudio.errors import GiveUp, ProviderError
from evaluation.backends.sounds import samples_of

LEVELS = ((0.4, "low"), (0.6, "middling"), (1.01, "high"))
"""Where a dimension from 0 to 1 is called low, middling or high."""
WORDS = {
    "en": {
        "valence": {"low": "unpleasant", "middling": "neither pleasant nor unpleasant", "high": "pleasant"},
        "arousal": {"low": "calm", "middling": "moderately stirred", "high": "stirred up"},
        "dominance": {"low": "yielding", "middling": "neither yielding nor in control", "high": "in control"},
        "label": "sounds {label} ({share:.0%})",
        "join": ", ",
    },
    "zh": {
        "valence": {"low": "不愉快", "middling": "情绪中性", "high": "愉快"},
        "arousal": {"low": "平静", "middling": "略有起伏", "high": "激动"},
        "dominance": {"low": "顺从", "middling": "强弱适中", "high": "强势"},
        "label": "听起来像 {label}（{share:.0%}）",
        "join": "，",
    },
}
DIMENSIONS = ("valence", "arousal", "dominance")
LABELS_TOLD = 3


class Recogniser(ABC):
    """Numbers from 0 to 1 for one clip, by name: dimensions of feeling, or labels with their shares."""

    alias: ClassVar[str]
    is_fake: ClassVar[bool] = False
    queue: ClassVar[str] = "io"

    def __init__(self, model: str) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._loaded: Any = None

    def open(self) -> Any:
        """Load the weights, if there are any; heavy packages are imported here."""
        return True

    @abstractmethod
    def measure(self, loaded: Any, data: bytes) -> dict[str, float]:
        """The numbers of one clip."""

    def numbers(self, data: bytes) -> dict[str, float]:
        """The numbers of a clip; loads the weights before the first. ProviderError where that is not possible."""
        with self._lock:
            try:
                self._loaded = self._loaded or self.open()
            except (ImportError, OSError, ValueError, RuntimeError) as error:
                raise ProviderError(
                    f"The recogniser {self.model} could not be loaded: {str(error)[:300]}. docs/models.md tells what it needs.",
                    cause="client",
                    decision=GiveUp(),
                ) from error
            return self.measure(self._loaded, data)

    def words(self, numbers: dict[str, float], language: str) -> str:
        """The same in words."""
        told = WORDS[language]
        if set(numbers) == set(DIMENSIONS):
            return str(told["join"]).join(told[name][_level(numbers[name])] for name in DIMENSIONS)  # type: ignore[index]
        label, share = max(numbers.items(), key=lambda pair: pair[1])
        return str(told["label"]).format(label=label, share=share)


class FakeRecogniser(Recogniser):
    """Numbers drawn from the bytes: the same clip always sounds the same, and nothing is heard."""

    alias: ClassVar = "fake"
    is_fake: ClassVar = True

    def measure(self, loaded: Any, data: bytes) -> dict[str, float]:  # noqa: ARG002 -- nothing is loaded
        return {name: (zlib.crc32(name.encode() + data) % 1000) / 999 for name in DIMENSIONS}


class Dimensions(Recogniser):
    """A wav2vec 2.0 with a regression head, as audeering's for MSP-Podcast: valence, arousal and dominance."""

    alias: ClassVar = "dimensions"
    queue: ClassVar = "gpu"

    def open(self) -> Any:
        from evaluation.backends.recogniser_models import DimensionsModel  # noqa: PLC0415 -- slow import

        return DimensionsModel(self.model)

    def measure(self, loaded: Any, data: bytes) -> dict[str, float]:
        found: dict[str, float] = loaded.measure(samples_of(data))
        return {name: min(1.0, max(0.0, found[name])) for name in DIMENSIONS}


class Labels(Recogniser):
    """Any audio classification model of the transformers library: the likeliest labels with their shares."""

    alias: ClassVar = "labels"
    queue: ClassVar = "gpu"

    def open(self) -> Any:
        from evaluation.backends.recogniser_models import LabelsModel  # noqa: PLC0415 -- slow import

        return LabelsModel(self.model)

    def measure(self, loaded: Any, data: bytes) -> dict[str, float]:
        found: dict[str, float] = loaded.measure(samples_of(data))
        return dict(sorted(found.items(), key=lambda pair: -pair[1])[:LABELS_TOLD])


def _level(value: float) -> str:
    return next(name for below, name in LEVELS if value < below)
