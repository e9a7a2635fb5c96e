"""Flavours of the OpenAI-compatible chat API: what each vendor and server wants otherwise."""

from __future__ import annotations

import base64
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import httpx

from eqstudio.benchmarks.base import Trial, TrialKind
from eqstudio.errors import GiveUp, ProviderError
from eqstudio.net import Endpoint, http_failure, http_request, secret
from eqstudio.net_json import connections_close, json_post
from evaluation.backends.base import Answer, Clips
from evaluation.backends.configured import Configured
from evaluation.backends.messages import sound_of
from evaluation.backends.openai import answer_read

if TYPE_CHECKING:
    from evaluation.backends.messages import Message, Part


class ChatFlavour(Configured):
    """One chat completion per question. The base of all flavours, and OpenAI's own."""

    alias: ClassVar = "openai"
    concurrency: ClassVar = 32
    url: ClassVar[str] = "https://api.openai.com/v1"
    key_env: ClassVar = "OPENAI_API_KEY"
    path: ClassVar[str] = "chat/completions"
    plain: ClassVar[dict[str, Any]] = {"modalities": ["text"]}
    """Further fields where text is wanted."""
    seeded: ClassVar[bool] = True
    limit_field: ClassVar[str] = "max_completion_tokens"

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(
            base_url=self.config.base_url or self.url,
            key_env=self.key,
            timeout_s=self.config.timeout_s,
            headers=tuple(self.config.headers.items()),
            header_envs=tuple(self.config.header_envs.items()),
        )

    def body(self, message: Message, *, aloud: bool) -> dict[str, Any]:
        """What is posted. ``aloud``: the reply is wanted as speech."""
        found: dict[str, Any] = {
            "model": self.model,
            "messages": [
                {"role": "system", "content": message.system},
                {"role": "user", "content": [self.part(part) for part in message.parts]},
            ],
            self.limit_field: self.config.max_tokens,
        }
        if self.config.temperature is not None:
            found["temperature"] = self.config.temperature
        if self.seeded:
            found["seed"] = self.exam.seed % 2**31
        found |= self.speech() if aloud else self.plain
        return {**found, **self.config.extra}

    def part(self, part: Part) -> dict[str, Any]:
        """One piece of the question in the form of this API."""
        return {"type": "text", "text": part.text} if part.audio is None else self.sound(*sound_of(part.audio))

    def sound(self, data: bytes, form: str) -> dict[str, Any]:
        return {"type": "input_audio", "input_audio": {"data": _base64(data), "format": form}}

    def speech(self) -> dict[str, Any]:
        return {"modalities": ["text", "audio"], "audio": {"voice": self.config.voice, "format": "wav"}}

    def post(self, body: dict[str, Any], what: str) -> dict[str, Any]:
        """The chat completion as it came."""
        return json_post(self.endpoint, self.path, body, what=what)

    def answer(self, trial: Trial, clips: Clips) -> Answer:
        aloud = self.config.speaks and trial.kind is TrialKind.REPLY
        message = self.message(trial, clips, aloud=aloud)
        began = time.monotonic()
        completion = self.post(self.body(message, aloud=aloud), f"{self.model} at question {trial.key}")
        text, sound = settled(completion)
        answer = answer_read(text, round((time.monotonic() - began) * 1000))
        return replace(answer, sound=sound)

    def close(self) -> None:
        connections_close()


class Azure(ChatFlavour):
    """Azure OpenAI: its v1 address, or with ``api_version`` the dated one, where the model is the name of a deployment."""

    alias: ClassVar = "azure"
    needs: ClassVar = ("model", "base_url")
    key_env: ClassVar = "AZURE_OPENAI_API_KEY"

    @property
    def endpoint(self) -> Endpoint:
        base = self.config.base_url.rstrip("/")
        dated = bool(self.config.api_version)
        own = base if dated or base.endswith("/v1") else f"{base}/openai/v1"
        return replace(
            super().endpoint,
            base_url=own,
            key_env="",
            header_envs=(("api-key", self.key), *self.config.header_envs.items()),
        )

    def post(self, body: dict[str, Any], what: str) -> dict[str, Any]:
        version = self.config.api_version
        path = f"openai/deployments/{self.model}/{self.path}?api-version={version}" if version else self.path
        return json_post(self.endpoint, path, body, what=what)


class Gemini(ChatFlavour):
    """Google's OpenAI-compatible address, which takes neither a seed nor modalities."""

    alias: ClassVar = "gemini"
    url: ClassVar = "https://generativelanguage.googleapis.com/v1beta/openai"
    key_env: ClassVar = "GEMINI_API_KEY"
    plain: ClassVar[dict[str, Any]] = {}
    seeded: ClassVar = False
    limit_field: ClassVar = "max_tokens"


class Portkey(ChatFlavour):
    """Portkey's gateway: its own key is a header; whom it asks stands in ``headers`` or in the model (``@name/model``)."""

    alias: ClassVar = "portkey"
    url: ClassVar = "https://api.portkey.ai/v1"
    key_env: ClassVar = "PORTKEY_API_KEY"
    plain: ClassVar[dict[str, Any]] = {}
    seeded: ClassVar = False
    limit_field: ClassVar = "max_tokens"

    @property
    def endpoint(self) -> Endpoint:
        return replace(
            super().endpoint,
            key_env="",
            header_envs=(("x-portkey-api-key", self.key), *self.config.header_envs.items()),
        )


class VllmServer(ChatFlavour):
    """A vLLM server, which takes any sound as a data URL and has no modalities."""

    alias: ClassVar = "vllm-server"
    url: ClassVar = "http://127.0.0.1:8001/v1"
    key_env: ClassVar = ""
    plain: ClassVar[dict[str, Any]] = {}
    limit_field: ClassVar = "max_tokens"

    def sound(self, data: bytes, form: str) -> dict[str, Any]:
        kind = {"mp3": "mpeg"}.get(form, form)
        return {"type": "audio_url", "audio_url": {"url": f"data:audio/{kind};base64,{_base64(data)}"}}

    def load(self) -> None:
        """Ask which models it serves, so that a wrong name is told before the first question."""
        endpoint = self.endpoint
        headers = {**dict(endpoint.headers), **{name: secret(env) for name, env in endpoint.header_envs}}
        if endpoint.key_env:
            headers["authorization"] = f"Bearer {secret(endpoint.key_env)}"
        try:
            found = http_request("GET", f"{endpoint.base_url.rstrip('/')}/models", headers=headers)
        except httpx.HTTPError as error:
            raise http_failure(error, what=f"The server of {self.alias}") from error
        served = [str(entry["id"]) for entry in found.json().get("data", [])]
        if self.model not in served:
            raise ProviderError(
                f"The server of {self.alias} does not serve {self.model}; it serves: {', '.join(served) or 'nothing'}.",
                cause="client",
                decision=GiveUp(),
            )


class VllmOmni(VllmServer):
    """A vllm-omni server: as vLLM's, but it speaks as well, and answers with text unless speech is asked for."""

    alias: ClassVar = "vllm-omni"
    url: ClassVar = "http://127.0.0.1:8091/v1"
    plain: ClassVar[dict[str, Any]] = {"modalities": ["text"]}

    def speech(self) -> dict[str, Any]:
        return {"modalities": ["text", "audio"]}


def settled(completion: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The completion with its words in the first choice, and the sound of a spoken reply in base64 ('' for none).

    Words of a spoken reply are its transcript; some servers put words and sound into two choices.
    """
    choices = completion.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        return completion, ""
    messages = [choice.get("message") or {} for choice in choices]
    spoken: dict[str, Any] = next(
        (message["audio"] for message in messages if isinstance(message.get("audio"), dict)), {}
    )
    place = next((place for place, message in enumerate(messages) if message.get("content")), 0)
    if not choices:
        return completion, ""
    words = messages[place].get("content") or spoken.get("transcript") or ""
    first = {**choices[place], "message": {**messages[place], "content": words}}
    return {**completion, "choices": [first]}, str(spoken.get("data") or "")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
