"""Any audio model behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import base64
import json
import time
from http import HTTPStatus
from typing import Any, ClassVar

from django.conf import settings

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import GiveUp, ProviderError, Retry
from eqstudio.net import NO_CREDIT_CODES, Endpoint, no_credit, redact, secret
from eqstudio.net_json import connections_close, json_post
from evaluation.backends.base import Answer, Backend, Clips
from evaluation.backends.messages import FORM, Message, Part, message_of, sound_of


class OpenAIBackend(Backend):
    """One chat completion per question: instructions, the situation, lines and options as text and ``input_audio``."""

    alias: ClassVar = "openai"
    kind: ClassVar = "model"
    concurrency: ClassVar = 32

    @property
    def model(self) -> str:
        return str(settings.EXAM_MODEL)

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(
            base_url=settings.EXAM_BASE_URL, key_env=settings.EXAM_KEY_ENV, timeout_s=settings.EXAM_TIMEOUT_S
        )

    def parameters(self) -> dict[str, Any]:
        return {"base_url": settings.EXAM_BASE_URL, "temperature": 0, "form": FORM["en"], **self.evaluator.parameters()}

    def check(self) -> None:
        if settings.EXAM_KEY_ENV:
            secret(settings.EXAM_KEY_ENV)

    def body(self, message: Message) -> dict[str, Any]:
        """What is posted to ``chat/completions``."""
        return {
            "model": self.model,
            "messages": [
                {"role": "system", "content": message.system},
                {"role": "user", "content": [_part(part) for part in message.parts]},
            ],
            "modalities": ["text"],
            "temperature": 0,
            "seed": self.exam.seed % 2**31,
        }

    def answer(self, trial: Trial, clips: Clips) -> Answer:
        body = self.body(message_of(self.exam, self.evaluator, trial, clips))
        began = time.monotonic()
        completion = json_post(self.endpoint, "chat/completions", body, what=f"{self.model} at question {trial.key}")
        return answer_read(completion, round((time.monotonic() - began) * 1000))

    def close(self) -> None:
        connections_close()


def _part(part: Part) -> dict[str, Any]:
    if part.audio is None:
        return {"type": "text", "text": part.text}
    data, form = sound_of(part.audio)
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(data).decode("ascii"), "format": form}}


def answer_read(completion: dict[str, Any], latency_ms: int) -> Answer:
    """What a chat completion says, and what it took. ProviderError where it holds no answer at all."""
    usage = completion.get("usage") or {}
    try:
        choice = completion["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        content, refusal = message.get("content"), message.get("refusal")
        tokens = {"tokens_in": usage.get("prompt_tokens"), "tokens_out": usage.get("completion_tokens")}
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise _unanswered(completion) from error
    paradata = {"model": completion.get("model"), "latency_ms": latency_ms, "finish_reason": finish, **tokens}
    if refusal or finish == "content_filter":
        return Answer(raw=content or "", failure="refused", error=refusal or "content filter", paradata=paradata)
    return Answer(raw=_text_of(content), paradata=paradata)


def _text_of(content: Any) -> str:
    """The words of a message: text itself, or a list of parts of text. None is no words; anything else stays as JSON."""
    if content is None:
        return ""
    if isinstance(content, list) and content and all(_is_text(part) for part in content):
        return "".join(part["text"] for part in content)
    return content if isinstance(content, str) else json.dumps(content)


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in {"text", "output_text"} and isinstance(part.get("text"), str)


def _unanswered(completion: dict[str, Any]) -> ProviderError:
    """No choice in it: gateways send the provider's own error that way, under the status of a success."""
    error = completion.get("error")
    if not error:
        return ProviderError("The provider answered without a choice.", cause="empty answer", decision=GiveUp())
    told: dict[str, Any] = error if isinstance(error, dict) else {"message": error}
    code, said = told.get("code"), redact(str(told.get("message") or json.dumps(told, ensure_ascii=False)))[:300]
    if code == HTTPStatus.PAYMENT_REQUIRED or str(code) in NO_CREDIT_CODES:
        return no_credit("The provider", said)
    passes = isinstance(code, int) and (
        code in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS} or code >= HTTPStatus.INTERNAL_SERVER_ERROR
    )
    return ProviderError(
        f"The provider answered with an error: {said}",
        cause="error in answer",
        decision=Retry(10) if passes else GiveUp(),
    )
