"""Anthropic's Messages API. A script is the input of a tool that the model must use, so it comes as JSON of the schema."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import httpx
from django.conf import settings
from django.utils.translation import gettext as _

from eqstudio.errors import ProviderError, Refused, StudioError
from eqstudio.net import CONNECT_TIMEOUT_S, READ_TIMEOUT_S, http_failure, http_once, not_an_api, secret
from generation.providers.answers import count_told, name_told, unreadable
from generation.providers.base import CheckResult, TextProvider, TextResult, Usage
from generation.providers.calls import CHECK_TIMEOUT_S, NO_SUCH_MODEL, cost, in_words, stopwatch
from generation.providers.text.chat import CHECK_TOKENS, fitted, strict_schema, unusable

if TYPE_CHECKING:
    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec, Prompt

MAX_TOKENS = 6000
VERSION = "2023-06-01"
TOOL = "deliver"


class AnthropicText(TextProvider):
    vendor: ClassVar[str] = "anthropic"
    writes_in_stages: ClassVar[bool] = True

    @property
    def model(self) -> str:
        return settings.VENDORS[self.vendor]["model"]

    @property
    def base_url(self) -> str:
        return settings.VENDORS[self.vendor]["base_url"].rstrip("/")

    @property
    def key_env(self) -> str:
        return settings.VENDORS[self.vendor]["key_env"]

    def parameters(self) -> dict[str, Any]:
        return {"base_url": self.base_url, "max_tokens": MAX_TOKENS, "anthropic_version": VERSION}

    def write(
        self, *, prompt: Prompt, schema: type[BaseModel], seed: int, brief: BriefSpec, ordinal: int, benchmark: str
    ) -> TextResult:
        """Write by a forced tool. The API takes no seed: only the ledger makes it repeatable."""
        what = f"Writing with {self.model}"
        tool = {"name": TOOL, "description": "Deliver what was asked for.", "input_schema": strict_schema(schema)}
        with stopwatch() as watch:
            answer = self._ask(
                {
                    "model": self.model,
                    "max_tokens": MAX_TOKENS,
                    "system": prompt.system,
                    "messages": [{"role": "user", "content": prompt.user}],
                    "tools": [tool],
                    "tool_choice": {"type": "tool", "name": TOOL},
                },
                what=what,
            )
        usage = self._usage(answer, watch.ms)
        try:
            script = fitted(_tool_input(answer, what), schema, what)
        except ProviderError as error:
            error.usage = usage
            raise
        return TextResult(script=script, model=name_told(answer.get("model"), self.model), usage=usage)

    def check(self) -> CheckResult:
        """Have one word written."""
        asked = {"model": self.model, "max_tokens": CHECK_TOKENS, "messages": [{"role": "user", "content": "Say yes."}]}
        told = {"url": self.base_url, "model": self.model}
        try:
            what = "Checking anthropic"
            _content(self._ask(asked, what=what, timeout_s=CHECK_TIMEOUT_S), what)
        except StudioError as error:
            if isinstance(error, ProviderError) and error.cause in NO_SUCH_MODEL:
                return CheckResult(ok=False, message=_("%(url)s answers, but it has no model %(model)r.") % told)
            return CheckResult(ok=False, message=in_words(error, base_url=self.base_url, key_env=self.key_env))
        return CheckResult(ok=True, message=_("%(url)s answers with %(model)s.") % told)

    def _ask(self, asked: dict[str, Any], *, what: str, timeout_s: float = READ_TIMEOUT_S) -> dict[str, Any]:
        headers = {"x-api-key": secret(self.key_env), "anthropic-version": VERSION}
        try:
            answer = http_once(
                "POST",
                f"{self.base_url}/v1/messages",
                client=_client(os.getpid()),
                json=asked,
                headers=headers,
                timeout=httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S),
            )
        except httpx.HTTPError as error:
            raise http_failure(error, what=what) from error
        try:
            told = answer.json()
        except (ValueError, RecursionError) as error:
            if answer.content[:512].lstrip().startswith(b"<"):
                raise not_an_api(what) from error
            raise unreadable(what, "the answer is not JSON") from error
        if not isinstance(told, dict):
            raise unreadable(what, "the answer is no object")
        return told

    def _usage(self, answer: dict[str, Any], latency_ms: int) -> Usage:
        told = answer.get("usage")
        used = told if isinstance(told, dict) else {}
        tokens_in, tokens_out = count_told(used.get("input_tokens")), count_told(used.get("output_tokens"))
        return Usage(tokens_in, tokens_out, latency_ms, cost(self.model, tokens_in=tokens_in, tokens_out=tokens_out))


def _tool_input(answer: dict[str, Any], what: str) -> Any:
    stopped = answer.get("stop_reason")
    if stopped == "refusal":
        raise Refused(f"{what}: the model declined.")
    if stopped == "max_tokens":
        raise unusable(what, f"the answer was cut off after {MAX_TOKENS} tokens", "truncated")
    for block in _content(answer, what):
        if isinstance(block, dict) and block.get("type") == "tool_use":
            return block.get("input")
    raise unusable(what, "the answer holds no script", "empty")


def _content(answer: dict[str, Any], what: str) -> list[Any]:
    found = answer.get("content")
    if not isinstance(found, list):
        raise unreadable(what, "the answer has no list of contents")
    return found


@lru_cache(maxsize=2)
def _client(_process: int) -> httpx.Client:
    """The connections of this process; a fork opens its own."""
    return httpx.Client(follow_redirects=False)
