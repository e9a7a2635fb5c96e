"""Any audio model behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import base64
import json
import time
from typing import Any, ClassVar

from django.conf import settings

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import GiveUp, ProviderError
from eqstudio.net import Endpoint, provider_call, secret
from evaluation.backends.base import Answer, Backend, Clips
from evaluation.backends.messages import FORM, Part, message_of, sound_of


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
        return {"base_url": settings.EXAM_BASE_URL, "temperature": 0, "form": FORM["en"]}

    def check(self) -> None:
        if settings.EXAM_KEY_ENV:
            secret(settings.EXAM_KEY_ENV)

    def answer(self, trial: Trial, clips: Clips) -> Answer:
        message = message_of(self.exam, self.evaluator, trial, clips)
        messages: Any = [
            {"role": "system", "content": message.system},
            {"role": "user", "content": [_part(part) for part in message.parts]},
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


def _part(part: Part) -> dict[str, Any]:
    if part.audio is None:
        return {"type": "text", "text": part.text}
    data, form = sound_of(part.audio)
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(data).decode("ascii"), "format": form}}


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
