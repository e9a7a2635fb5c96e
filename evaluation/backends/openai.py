"""Any audio model behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import base64
import io
import json
import time
from typing import Any, ClassVar

import soundfile
from django.conf import settings

from eqstudio.benchmarks.base import Trial, TrialKind
from eqstudio.errors import GiveUp, ProviderError
from eqstudio.net import Endpoint, provider_call, secret
from evaluation.backends.base import Answer, Backend, ClipAudio, Clips

CONTRACT = {
    TrialKind.CHOICE: {
        "en": 'Answer with one JSON object and nothing else: {"reason": "<one sentence>", "answer": "<letter of the option>"}',
        "zh": '只用一个 JSON 对象回答，不要写别的内容：{"reason": "<一句话>", "answer": "<选项字母>"}',
    },
    TrialKind.GRADE: {
        "en": 'Answer with one JSON object and nothing else: {"reason": "<one sentence>", "answer": <a whole number from 1 to 4>}',
        "zh": '只用一个 JSON 对象回答，不要写别的内容：{"reason": "<一句话>", "answer": <1 到 4 的整数>}',
    },
    TrialKind.REPLY: {
        "en": 'Answer with one JSON object and nothing else: {"answer": "<your text>"}',
        "zh": '只用一个 JSON 对象回答，不要写别的内容：{"answer": "<你的文字>"}',
    },
}
WORDS = {
    "en": {"option": "Option {letter}", "scenario": "Situation", "line": "{speaker}"},
    "zh": {"option": "选项 {letter}", "scenario": "情境", "line": "{speaker}"},
}


class OpenAIBackend(Backend):
    """One chat completion per question: instructions, the situation, lines and options as text and ``input_audio``."""

    alias: ClassVar = "openai"
    kind: ClassVar = "model"

    @property
    def model(self) -> str:
        return str(settings.EXAM_MODEL)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(base_url=settings.EXAM_BASE_URL, key_env=settings.EXAM_KEY_ENV, max_retries=0)

    def parameters(self) -> dict[str, Any]:
        return {"base_url": settings.EXAM_BASE_URL, "temperature": 0, "contract": CONTRACT[TrialKind.CHOICE]["en"]}

    def check(self) -> None:
        if settings.EXAM_KEY_ENV:
            secret(settings.EXAM_KEY_ENV)

    def answer(self, trial: Trial, clips: Clips) -> Answer:
        messages: Any = [
            {"role": "system", "content": f"{self.exam.instructions[trial.language]}\n\n{_contract(trial)}"},
            {"role": "user", "content": self._parts(trial, clips)},
        ]
        began = time.monotonic()
        client = self.endpoint.client()
        completion = provider_call(
            lambda: client.chat.completions.create(
                model=self.model, messages=messages, modalities=["text"], temperature=0, seed=self.exam.seed % 2**31
            ),
            what=f"{self.model} at question {trial.key}",
        )
        return _read(completion, round((time.monotonic() - began) * 1000))

    def _parts(self, trial: Trial, clips: Clips) -> list[dict[str, Any]]:
        words = WORDS[trial.language]
        parts: list[dict[str, Any]] = []
        if trial.scenario:
            parts.append(_text(f"{words['scenario']}: {trial.scenario}"))
        for segment in trial.context:
            parts += self._heard(segment.speaker, segment.variant, segment.text, clips)
        parts.append(_text(trial.question))
        for option in trial.options:
            parts += self._heard(words["option"].format(letter=option.letter), option.variant, option.text, clips)
        return parts

    def _heard(self, name: str, variant: str | None, text: str | None, clips: Clips) -> list[dict[str, Any]]:
        if variant is None:
            return [_text(f"{name}: {text}")]
        clip = clips(variant)
        audio = self.evaluator.audio(clip)
        if audio is None:
            return [_text(f"{name}: {clip.text}")]
        return [_text(f"{name}:"), _audio(audio)]


def _contract(trial: Trial) -> str:
    kind = {TrialKind.MCQ: TrialKind.CHOICE, TrialKind.TRANSCRIBE: TrialKind.REPLY}.get(trial.kind, trial.kind)
    return CONTRACT[kind][trial.language]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _audio(clip: ClipAudio) -> dict[str, Any]:
    data = clip.read()
    if clip.media_type in {"audio/mpeg", "audio/mp3"}:
        form = "mp3"
    elif clip.media_type in {"audio/wav", "audio/x-wav", "audio/wave"}:
        form = "wav"
    else:
        data, form = wav_of(data), "wav"
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(data).decode("ascii"), "format": form}}


def wav_of(data: bytes) -> bytes:
    """The same samples as 16-bit WAV, for endpoints that take nothing else."""
    samples, rate = soundfile.read(io.BytesIO(data), dtype="int16", always_2d=True)
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


def _read(completion: Any, latency_ms: int) -> Answer:
    if not getattr(completion, "choices", None):
        raise ProviderError("The provider answered without a choice.", cause="empty answer", decision=GiveUp())
    choice = completion.choices[0]
    usage = completion.usage
    paradata = {
        "model": completion.model,
        "latency_ms": latency_ms,
        "finish_reason": choice.finish_reason,
        "tokens_in": usage.prompt_tokens if usage else None,
        "tokens_out": usage.completion_tokens if usage else None,
    }
    refusal = getattr(choice.message, "refusal", None)
    if refusal or choice.finish_reason == "content_filter":
        return Answer(
            raw=choice.message.content or "", failure="refused", error=refusal or "content filter", paradata=paradata
        )
    content = choice.message.content
    return Answer(raw=content if isinstance(content, str) else json.dumps(content), paradata=paradata)
