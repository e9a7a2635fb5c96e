"""Structured writing over the chat API: one path for any OpenAI-compatible endpoint, ours included."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from eqstudio.errors import ProviderError, Refused, Retry
from generation.providers.answers import count_told, keepable, name_told, unreadable
from generation.providers.base import CheckResult, TextResult, Usage
from generation.providers.calls import call_check, cost, sdk_call, stopwatch

if TYPE_CHECKING:
    from eqstudio.benchmarks.base import Prompt
    from eqstudio.net import Endpoint

SHOWN_FAULTS = 3
CHECK_TOKENS = 16


@dataclass(frozen=True)
class Dialect:
    """How one vendor's chat API wants to be asked. ``schemas`` is off where it only knows "some JSON object": then the
    schema stands in the prompt, and what comes is validated all the same.
    """

    schemas: bool = True
    tokens_option: str = "max_tokens"
    seed: bool = True

    def options(self, *, max_tokens: int, seed: int) -> dict[str, Any]:
        return {self.tokens_option: max_tokens} | ({"seed": seed} if self.seed else {})

    def prompt(self, prompt: Prompt, schema: type[BaseModel]) -> list[dict[str, str]]:
        system = prompt.system
        if not self.schemas:
            told = json.dumps(strict_schema(schema), ensure_ascii=False)
            system = f"{system}\n\nAnswer with one JSON object that fits this JSON schema, and nothing else:\n{told}"
        return [{"role": "system", "content": system}, {"role": "user", "content": prompt.user}]

    def response_format(self, schema: type[BaseModel]) -> dict[str, Any]:
        if not self.schemas:
            return {"type": "json_object"}
        return {
            "type": "json_schema",
            "json_schema": {"name": schema.__name__, "schema": strict_schema(schema), "strict": True},
        }


def chat_write(
    *,
    endpoint: Endpoint,
    model: str,
    prompt: Prompt,
    schema: type[BaseModel],
    options: dict[str, Any],
    dialect: Dialect = Dialect(),
) -> TextResult:
    """Ask for one JSON object that fits ``schema``.

    Raises Refused when the model declines and a ProviderError with the cause ``truncated``, ``not JSON``, ``wrong schema``
    or ``empty`` when what came is not a script, ``unreadable`` when it is not even an answer; these may be tried again,
    since a model rarely errs twice alike. The error carries what the answer cost.
    """
    what = f"Writing with {model}"
    with stopwatch() as watch:
        completion = sdk_call(
            endpoint,
            lambda client: client.chat.completions.create(
                model=model,
                messages=dialect.prompt(prompt, schema),
                response_format=dialect.response_format(schema),
                **options,
            ),
            what=what,
        )
    told = getattr(completion, "usage", None)
    tokens_in = count_told(getattr(told, "prompt_tokens", None))
    tokens_out = count_told(getattr(told, "completion_tokens", None))
    usage = Usage(
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        latency_ms=watch.ms,
        cost=cost(model, tokens_in=tokens_in, tokens_out=tokens_out),
    )
    try:
        script = _script(completion, schema, what)
    except ProviderError as error:
        error.usage = usage
        raise
    return TextResult(script=script, model=name_told(getattr(completion, "model", None), model), usage=usage)


def chat_check(endpoint: Endpoint, model: str, *, what: str, dialect: Dialect = Dialect()) -> CheckResult:
    """Have one word written."""
    return call_check(
        endpoint,
        model,
        lambda small: _message(
            sdk_call(
                small,
                lambda client: client.chat.completions.create(
                    model=model,
                    messages=[{"role": "user", "content": "Say yes."}],
                    **{dialect.tokens_option: CHECK_TOKENS},
                ),
                what=what,
            ),
            what,
        ),
        what=what,
    )


def _script(completion: Any, schema: type[BaseModel], what: str) -> dict[str, Any]:
    finish, content, refusal = _message(completion, what)
    if finish == "content_filter" or refusal:
        raise Refused(f"{what}: the model declined: {refusal or 'stopped by its content filter'}"[:400])
    text = content.strip()
    if finish == "length":
        raise unusable(what, f"the answer was cut off after {len(text)} characters", "truncated")
    if not text:
        raise unusable(what, "the answer is empty", "empty")
    try:
        return fitted(json.loads(text), schema, what)
    except RecursionError as error:
        raise unusable(what, "the answer is nested too deeply to be a script", "not JSON") from error
    except json.JSONDecodeError as error:
        cause = "truncated" if text.startswith("{") and error.pos >= len(text.rstrip()) - 1 else "not JSON"
        raise unusable(what, f"the answer is not JSON ({error.msg} at character {error.pos})", cause) from error


def _message(completion: Any, what: str) -> tuple[str, str, str]:
    """Why the first choice of an answer ended, its words and its refusal, each empty where there is none."""
    choices = getattr(completion, "choices", None)
    if not isinstance(choices, list):
        raise unreadable(what, "the answer has no list of choices")
    if not choices:
        raise unusable(what, "the answer holds no choice", "empty")
    message = getattr(choices[0], "message", None)
    content, refusal = getattr(message, "content", None), getattr(message, "refusal", None)
    if message is None or not isinstance(content, str | None) or not isinstance(refusal, str | None):
        raise unreadable(what, "the answer holds no message in words")
    return str(getattr(choices[0], "finish_reason", "") or ""), content or "", refusal or ""


def fitted(answer: Any, schema: type[BaseModel], what: str) -> dict[str, Any]:
    """The answer as plain data that fits the schema and can be kept."""
    try:
        found = schema.model_validate(answer).model_dump(mode="json")
    except ValidationError as error:
        raise unusable(what, f"the script does not fit: {faults(error)}", "wrong schema") from error
    if not keepable(found):
        raise unreadable(what, "the script holds a NUL or half of a character")
    return found


def unusable(what: str, why: str, cause: str) -> ProviderError:
    """What came is not a script; another try may bring one."""
    return ProviderError(f"{what}: {why}.", cause=cause, decision=Retry(0))


def faults(error: ValidationError) -> str:
    """The first few things wrong with a script, by field, without repeating the script."""
    listed = error.errors(include_url=False, include_input=False)
    shown = [f"{'.'.join(map(str, fault['loc'])) or 'the script'}: {fault['msg']}" for fault in listed[:SHOWN_FAULTS]]
    more = f" (and {len(listed) - SHOWN_FAULTS} more)" if len(listed) > SHOWN_FAULTS else ""
    return "; ".join(shown) + more


@lru_cache(maxsize=64)
def strict_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema in the strict dialect: every object closed, every property required, no defaults. To be read only."""
    closed: dict[str, Any] = _closed(schema.model_json_schema())
    return closed


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(part) for part in node]
    if not isinstance(node, dict):
        return node
    result = {
        key: _closed(value) for key, value in node.items() if not (key == "default" and not isinstance(value, dict))
    }
    if result.get("type") == "object" and isinstance(result.get("properties"), dict):
        result["additionalProperties"] = False
        result["required"] = list(result["properties"])
    return result
