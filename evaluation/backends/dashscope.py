"""Alibaba's Model Studio (DashScope): sound as a data URL without a type, and answers that come as a stream only."""

from __future__ import annotations

import base64
import json
from typing import Any, ClassVar

import httpx

from eqstudio.errors import GiveUp, ProviderError
from eqstudio.net import http_failure, http_once, secret
from evaluation.backends.chat_flavours import ChatFlavour


class DashScope(ChatFlavour):
    """Qwen-Omni behind the compatible mode. What streams in is read to its end and put together."""

    alias: ClassVar = "dashscope"
    url: ClassVar = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"
    key_env: ClassVar = "DASHSCOPE_API_KEY"
    limit_field: ClassVar = "max_tokens"

    def sound(self, data: bytes, form: str) -> dict[str, Any]:
        url = f"data:;base64,{base64.b64encode(data).decode('ascii')}"
        return {"type": "input_audio", "input_audio": {"data": url, "format": form}}

    def post(self, body: dict[str, Any], what: str) -> dict[str, Any]:
        endpoint = self.endpoint
        headers = {**dict(endpoint.headers), **{name: secret(env) for name, env in endpoint.header_envs}}
        if endpoint.key_env:
            headers["authorization"] = f"Bearer {secret(endpoint.key_env)}"
        streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
        url = f"{endpoint.base_url.rstrip('/')}/{self.path}"
        try:
            with httpx.Client(timeout=endpoint.timeout_s) as client:
                answer = http_once("POST", url, client=client, json=streamed, headers=headers)
        except httpx.HTTPError as error:
            raise http_failure(error, what=what) from error
        return put_together(answer.text, what)


def put_together(stream: str, what: str) -> dict[str, Any]:
    """One chat completion out of the events of a stream; ProviderError where an event is an error or unreadable."""
    found: dict[str, Any] = {"model": None, "usage": None, "choices": []}
    words, sound, transcript, finish = [], [], [], None
    for line in stream.splitlines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue
        event = _event(data, what)
        found["model"] = event.get("model") or found["model"]
        found["usage"] = event.get("usage") or found["usage"]
        for choice in event.get("choices") or []:
            delta = choice.get("delta") or {}
            spoken = delta.get("audio") or {}
            words.append(delta.get("content") or "")
            sound.append(base64.b64decode(spoken.get("data") or ""))
            transcript.append(spoken.get("transcript") or "")
            finish = choice.get("finish_reason") or finish
    if not words:
        return found
    message: dict[str, Any] = {"content": "".join(words)}
    if any(sound):
        message["audio"] = {
            "data": base64.b64encode(b"".join(sound)).decode("ascii"),
            "transcript": "".join(transcript),
        }
    return {**found, "choices": [{"message": message, "finish_reason": finish}]}


def _event(data: str, what: str) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError as error:
        raise ProviderError(f"{what}: the stream broke off.", cause="unreadable", decision=GiveUp()) from error
    if not isinstance(event, dict) or event.get("error"):
        said = event.get("error") if isinstance(event, dict) else event
        raise ProviderError(f"{what}: {str(said)[:300]}", cause="stream error", decision=GiveUp())
    return event
