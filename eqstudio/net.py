"""Everything that leaves the process goes through here: timeouts, size caps, retries that honour Retry-After, redaction."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import threading
import time
from collections import OrderedDict
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import httpx
import stamina

from eqstudio.errors import GiveUp, InvalidInput, ProviderError, Refused, Retry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import openai

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 120.0
MAX_BODY_BYTES = 64 * 1024 * 1024
DEADLINE_S = 900.0
"""So long may one answer take to its last byte; the others are limits of one pause."""
_TOO_LATE = "The answer did not end in time."
NO_CREDIT_CODES = ("insufficient_quota", "billing_hard_limit_reached", "credit balance is too low", "Arrearage")
_SECRET = re.compile(
    r"(?i)(bearer\s+|api[-_]?key[\"'=:\s]+|token[\"'=:\s]+)[^\s\"',;]+|\b(?:sk|hf|pk)[-_][A-Za-z0-9_-]{8,}"
)


def redact(text: str) -> str:
    """Mask what looks like a credential, for logs, rows and pages."""
    return _SECRET.sub(lambda match: f"{match.group(1) or ''}***", text)


def secret(name: str, holds: str = "the key of this provider") -> str:
    """Read a secret from the environment variable ``name``; a row stores the name, never the value. ``holds`` says in the
    message what is missing.
    """
    value = os.environ.get(name, "").strip()  # a file that it was read from ends with a newline
    if not value:
        raise InvalidInput(f"The environment variable {name} is not set; it should hold {holds}.", field=name)
    return value


SHARED_CLIENTS = 8
_shared: OrderedDict[tuple[int, Endpoint, int], openai.OpenAI] = OrderedDict()
_shared_lock = threading.Lock()


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible endpoint: where it is and the environment variable that holds its key ('' for none)."""

    base_url: str
    key_env: str = ""
    timeout_s: float = READ_TIMEOUT_S
    max_retries: int = 3
    headers: tuple[tuple[str, str], ...] = ()
    header_envs: tuple[tuple[str, str], ...] = ()
    """Headers whose values are secrets: header name and environment variable."""

    def client(self) -> openai.OpenAI:
        """A client whose retries honour Retry-After (up to 120 s) and whose every call has a deadline."""
        import openai  # noqa: PLC0415 -- slow import

        return openai.OpenAI(
            base_url=self.base_url,
            api_key=secret(self.key_env) if self.key_env else "none",
            timeout=self.timeout_s,
            max_retries=self.max_retries,
            default_headers={**dict(self.headers), **{name: secret(env) for name, env in self.header_envs}},
        )

    def shared(self) -> openai.OpenAI:
        """The client of this process for this endpoint and key, with its open connections; it is not closed after a call."""
        secrets = tuple(os.environ.get(env, "") for env in (self.key_env, *(env for _name, env in self.header_envs)))
        with _shared_lock:
            key = (os.getpid(), self, hash(secrets))
            if key not in _shared:
                while len(_shared) >= SHARED_CLIENTS:
                    _shared.popitem(last=False)[1].close()
                _shared[key] = self.client()
            _shared.move_to_end(key)
            return _shared[key]


def provider_call(call: Callable[[], Any], *, what: str) -> Any:
    """Run one SDK call and turn its failures into a ProviderError that says what happened and what follows."""
    import openai  # noqa: PLC0415 -- slow import

    try:
        return call()
    except openai.RateLimitError as error:
        if str(error.code) in NO_CREDIT_CODES:
            raise no_credit(what, redact(error.message)) from error
        raise ProviderError(
            f"{what}: the provider asks for fewer calls (429).",
            cause="rate limited",
            decision=Retry(_retry_after(error), pause=True),
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
    except UnicodeEncodeError:  # what it says may be the key
        raise ProviderError(
            f"{what}: the key, a header or a text holds a character that cannot be sent.",
            cause="client",
            decision=GiveUp(),
        ) from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:  # the SDK trusts what comes
        said = redact(f"{type(error).__name__}: {error}")[:200]
        raise ProviderError(
            f"{what}: the answer cannot be read ({said}).", cause="unreadable", decision=Retry(0)
        ) from error


def _from_status(error: openai.APIStatusError, what: str) -> ProviderError:
    if error.status_code == HTTPStatus.PAYMENT_REQUIRED:
        return no_credit(what, redact(error.message))
    if "text/html" in error.response.headers.get("content-type", ""):
        return not_an_api(what, retry=error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR)
    message = f"{what}: HTTP {error.status_code}: {redact(error.message)[:300]}"
    if "content_policy" in str(error.code) or "content_filter" in str(error.code):
        return Refused(message)
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ProviderError(message, cause=f"HTTP {error.status_code}", decision=Retry(10))
    return ProviderError(message, cause=f"HTTP {error.status_code}", decision=GiveUp())


def no_credit(what: str, said: str) -> ProviderError:
    """The account behind the key has nothing left: waiting does not help."""
    return ProviderError(
        f"{what}: the account has no credit left. Add some, then retry. ({said[:200]})",
        cause="no credit",
        decision=GiveUp(),
    )


def not_an_api(what: str, *, retry: bool = False) -> ProviderError:
    """What answered is a web page."""
    return ProviderError(
        f"{what}: a web page came instead of an answer. Is the base URL that of the API (it often ends in /v1)?",
        cause="not an API",
        decision=Retry(10) if retry else GiveUp(),
    )


def _retry_after(error: openai.APIStatusError) -> float:
    return retry_after(error.response.headers.get("retry-after", ""))


def retry_after(told: str) -> float:
    """Seconds until a provider wants to be asked again, from its header: seconds or an HTTP date; 20 when it does not say."""
    try:
        return min(max(0.0, float(told)), 3600.0)
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(told)
    except ValueError:
        return 20.0
    return min(max(0.0, until.timestamp() - time.time()), 3600.0)


def _should_retry(error: Exception) -> bool | float:
    if isinstance(error, httpx.HTTPStatusError):
        if error.response.status_code not in (408, 429, 500, 502, 503, 504):
            return False
        after = error.response.headers.get("retry-after", "")
        return min(float(after), 120.0) if after.isdigit() else True
    return isinstance(error, httpx.TransportError)


def http_once(
    method: str,
    url: str,
    *,
    max_bytes: int = MAX_BODY_BYTES,
    deadline_s: float = DEADLINE_S,
    client: httpx.Client | None = None,
    **options: Any,
) -> httpx.Response:
    """One HTTP call with at most ``max_bytes`` of body, of which the last may come ``deadline_s`` seconds from now.

    httpx's errors are raised as they are, ReadTimeout at the deadline too. More body than that is a ProviderError; that of
    a refusal is cut instead. A ``client`` of the caller's keeps its connections open.
    """
    if client is None:
        timeout = httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
        with httpx.Client(timeout=timeout, follow_redirects=False) as own:
            return http_once(method, url, max_bytes=max_bytes, deadline_s=deadline_s, client=own, **options)
    ends = time.monotonic() + deadline_s
    with client.stream(method, url, **options) as response:
        body = _capped(response, max_bytes, ends)
        if len(body) > max_bytes and response.is_success:
            raise ProviderError(
                f"{httpx.URL(url).host} sent more than {max_bytes} bytes.", cause="too large", decision=GiveUp()
            )
        response._content = body[:max_bytes]  # noqa: SLF001 -- httpx has no public way to keep a capped body
        response.raise_for_status()
        return response


def _capped(response: httpx.Response, max_bytes: int, ends: float) -> bytes:
    """The body, or what came of it when it was more than ``max_bytes``. ``ends`` is a time of the monotonic clock."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > max_bytes:
            break
        if time.monotonic() > ends:
            raise httpx.ReadTimeout(_TOO_LATE, request=response.request)
    return bytes(body)


@stamina.retry(on=_should_retry, attempts=4, timeout=180)
def http_request(method: str, url: str, *, max_bytes: int = MAX_BODY_BYTES, **options: Any) -> httpx.Response:
    """As ``http_once``, with bounded retries on transport errors, 429 and 5xx."""
    return http_once(method, url, max_bytes=max_bytes, **options)


class PrivateAddress(InvalidInput):
    """An address that leads into this house, where nobody from outside may send the studio."""


def address_resolve(url: str, *, private: bool) -> str:
    """The IP address behind ``url``, to connect to: it is looked up once, so that it cannot change after the check.

    InvalidInput when ``url`` is no http(s) address or its name is not known; PrivateAddress when any of its addresses is
    not a public one and ``private`` does not allow that.
    """
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidInput(f"This is no address: {error}", field="url") from error
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.userinfo:
        raise InvalidInput("An address begins with https:// or http:// and holds no name or password.", field="url")
    try:
        found = socket.getaddrinfo(parsed.host, parsed.port or 443, type=socket.SOCK_STREAM)
    except OSError as error:
        raise InvalidInput(f"Nobody knows where {parsed.host} is ({error}).", field="url") from error
    addresses = [str(entry[4][0]).partition("%")[0] for entry in found]
    if not private and not all(ipaddress.ip_address(address).is_global for address in addresses):
        raise PrivateAddress(f"{parsed.host} leads to a private address; the studio sends nothing there.", field="url")
    return addresses[0]


@contextmanager
def _cut_off(after_s: float) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
    """A trace for httpx that ends the connection ``after_s`` seconds from now, with a ReadTimeout.

    Every limit of httpx begins anew with each byte, and headers, too, may come one by one.
    """
    ends, opened = time.monotonic() + after_s, list[socket.socket]()

    def trace(event: str, told: Mapping[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            opened.append(told["return_value"].get_extra_info("socket"))
        if time.monotonic() > ends and not event.endswith((".failed", "closed.started", "closed.complete")):
            raise httpx.ReadTimeout(_TOO_LATE)

    def shut() -> None:
        for each in opened:
            with suppress(OSError):
                socket.socket.shutdown(
                    each, socket.SHUT_RDWR
                )  # not TLS's own, which another thread may be reading from

    timer = threading.Timer(after_s, shut)
    timer.daemon = True
    timer.start()
    try:
        yield trace
    except httpx.TransportError as error:
        if time.monotonic() > ends:
            raise httpx.ReadTimeout(_TOO_LATE) from error
        raise
    finally:
        timer.cancel()


def http_post_public(
    url: str, *, content: bytes, headers: dict[str, str], private: bool, timeout_s: float = 10.0
) -> httpx.Response:
    """One POST to somebody else's address, to exactly the IP address that was checked; no redirect is followed.

    ``timeout_s`` is the longest pause and the time for the whole answer. Certificates are checked against the name. httpx's errors are raised as they are, those of ``address_resolve`` too.
    """
    address = address_resolve(url, private=private)
    parsed = httpx.URL(url)
    shown = f"[{address}]" if ":" in address else address
    host = parsed.netloc.decode()
    with (
        _cut_off(timeout_s) as trace,
        httpx.Client(timeout=timeout_s, follow_redirects=False, trust_env=False) as client,
    ):
        return http_once(
            "POST",
            str(parsed.copy_with(host=shown)),
            client=client,
            max_bytes=64 * 1024,
            deadline_s=timeout_s,
            content=content,
            headers={**headers, "Host": host},
            extensions={"sni_hostname": parsed.host, "trace": trace},
        )


def http_failure(error: httpx.HTTPError, *, what: str) -> ProviderError:
    """The ProviderError of a failed ``http_once``: what happened and what follows."""
    if isinstance(error, httpx.HTTPStatusError):
        return _from_answer(error.response, what)
    if isinstance(error, httpx.TimeoutException):
        return ProviderError(f"{what}: no answer in time.", cause="timeout", decision=Retry(5))
    return ProviderError(
        f"{what}: the provider cannot be reached ({redact(str(error))}).", cause="unreachable", decision=Retry(10)
    )


def _from_answer(answer: httpx.Response, what: str) -> ProviderError:
    said = redact(answer.text)[:300]
    if answer.status_code == HTTPStatus.PAYMENT_REQUIRED or any(word in said for word in NO_CREDIT_CODES):
        return no_credit(what, said)
    if "text/html" in answer.headers.get("content-type", ""):
        return not_an_api(what, retry=answer.is_server_error)
    if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        after = Retry(retry_after(answer.headers.get("retry-after", "")), pause=True)
        return ProviderError(f"{what}: the provider asks for fewer calls (429).", cause="rate limited", decision=after)
    decision = Retry(10) if answer.is_server_error else GiveUp()
    return ProviderError(
        f"{what}: HTTP {answer.status_code}: {said}", cause=f"HTTP {answer.status_code}", decision=decision
    )
