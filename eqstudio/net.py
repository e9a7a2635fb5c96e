"""Everything that leaves the process goes through here: timeouts, size caps, retries that honour Retry-After, redaction."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx
import openai
import stamina

from eqstudio.errors import GiveUp, InvalidInput, ProviderError, Refused, Retry

if TYPE_CHECKING:
    from collections.abc import Callable

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 120.0
MAX_BODY_BYTES = 64 * 1024 * 1024
_SECRET = re.compile(
    r"(?i)(bearer\s+|api[-_]?key[\"'=:\s]+|token[\"'=:\s]+)[^\s\"',;]+|\b(?:sk|hf|pk)[-_][A-Za-z0-9_-]{8,}"
)


def redact(text: str) -> str:
    """Mask what looks like a credential, for logs, rows and pages."""
    return _SECRET.sub(lambda match: f"{match.group(1) or ''}***", text)


def secret(name: str) -> str:
    """Read a secret from the environment variable ``name``; a row stores the name, never the value."""
    value = os.environ.get(name, "")
    if not value:
        raise InvalidInput(
            f"The environment variable {name} is not set; it should hold the key of this provider.", field=name
        )
    return value


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible endpoint: where it is and the environment variable that holds its key ('' for none)."""

    base_url: str
    key_env: str = ""
    timeout_s: float = READ_TIMEOUT_S
    max_retries: int = 3

    def client(self) -> openai.OpenAI:
        """A client whose retries honour Retry-After (up to 120 s) and whose every call has a deadline."""
        return openai.OpenAI(
            base_url=self.base_url,
            api_key=secret(self.key_env) if self.key_env else "none",
            timeout=self.timeout_s,
            max_retries=self.max_retries,
        )


def provider_call(call: Callable[[], Any], *, what: str) -> Any:
    """Run one SDK call and turn its failures into a ProviderError that says what happened and what follows."""
    try:
        return call()
    except openai.RateLimitError as error:
        raise ProviderError(
            f"{what}: the provider asks for fewer calls (429).",
            cause="rate limited",
            decision=Retry(_retry_after(error)),
        ) from error
    except openai.APITimeoutError as error:
        raise ProviderError(f"{what}: no answer in time.", cause="timeout", decision=Retry(5)) from error
    except openai.APIConnectionError as error:
        raise ProviderError(
            f"{what}: the provider cannot be reached ({redact(str(error.__cause__ or error))}).",
            cause="unreachable",
            decision=Retry(10),
        ) from error
    except openai.APIStatusError as error:
        raise _from_status(error, what) from error
    except openai.OpenAIError as error:
        raise ProviderError(f"{what}: {redact(str(error))}", cause="client", decision=GiveUp()) from error


def _from_status(error: openai.APIStatusError, what: str) -> ProviderError:
    message = f"{what}: HTTP {error.status_code}: {redact(error.message)[:300]}"
    if "content_policy" in str(error.code) or "content_filter" in str(error.code):
        return Refused(message)
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ProviderError(message, cause=f"HTTP {error.status_code}", decision=Retry(10))
    return ProviderError(message, cause=f"HTTP {error.status_code}", decision=GiveUp())


def _retry_after(error: openai.APIStatusError) -> float:
    try:
        return min(float(error.response.headers.get("retry-after", "")), 3600.0)
    except ValueError:
        return 20.0


def _should_retry(error: Exception) -> bool | float:
    if isinstance(error, httpx.HTTPStatusError):
        if error.response.status_code not in (408, 429, 500, 502, 503, 504):
            return False
        after = error.response.headers.get("retry-after", "")
        return min(float(after), 120.0) if after.isdigit() else True
    return isinstance(error, httpx.TransportError)


@stamina.retry(on=_should_retry, attempts=4, timeout=180)
def http_request(method: str, url: str, *, max_bytes: int = MAX_BODY_BYTES, **options: Any) -> httpx.Response:
    """One HTTP call with a deadline, at most ``max_bytes`` of body, and bounded retries on transport errors, 429 and 5xx."""
    timeout = httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    with (
        httpx.Client(timeout=timeout, follow_redirects=False) as client,
        client.stream(method, url, **options) as response,
    ):
        response.raise_for_status()
        body = bytearray()
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > max_bytes:
                raise ProviderError(
                    f"{httpx.URL(url).host} sent more than {max_bytes} bytes.", cause="too large", decision=GiveUp()
                )
        response._content = bytes(body)  # noqa: SLF001 -- httpx has no public way to keep a capped body
        return response
