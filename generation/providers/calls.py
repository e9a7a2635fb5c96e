"""What every provider behind an OpenAI-compatible endpoint shares: timing, cost and the check."""

from __future__ import annotations

import time
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.conf import settings

from eqstudio.errors import ProviderError, StudioError
from eqstudio.net import provider_call
from generation.providers.base import CheckResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eqstudio.net import Endpoint

CHECK_TIMEOUT_S = 20.0
_MILLION = Decimal(1_000_000)


class Stopwatch:
    """Milliseconds since it was started, or until it was stopped."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._end: float | None = None

    def stop(self) -> None:
        self._end = time.monotonic()

    @property
    def ms(self) -> int:
        return round(1000 * ((self._end or time.monotonic()) - self._start))


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Time a block; the watch stops when the block ends, also by an error."""
    watch = Stopwatch()
    try:
        yield watch
    finally:
        watch.stop()


def cost(model: str, *, tokens_in: int | None, tokens_out: int | None) -> Decimal | None:
    """US dollars by the price list in settings; None when the model or the tokens are not known."""
    price = settings.PRICES.get(model)
    if price is None or tokens_in is None or tokens_out is None:
        return None
    return (Decimal(str(price.get("in", 0))) * tokens_in + Decimal(str(price.get("out", 0))) * tokens_out) / _MILLION


def endpoint_check(endpoint: Endpoint, model: str, *, what: str) -> CheckResult:
    """Ask an endpoint for its models: one cheap call that proves address, key and model name."""
    try:
        client = endpoint.client().with_options(timeout=CHECK_TIMEOUT_S, max_retries=0)
        with client:
            listed = {entry.id for entry in provider_call(lambda: list(client.models.list()), what=what)}
    except ProviderError as error:
        return CheckResult(ok=False, message=_in_words(error, endpoint))
    except StudioError as error:
        return CheckResult(ok=False, message=error.message)
    if listed and model not in listed:
        return CheckResult(ok=False, message=f"{endpoint.base_url} answers, but it has no model {model!r}.")
    return CheckResult(ok=True, message=f"{endpoint.base_url} answers and knows {model}.")


def _in_words(error: ProviderError, endpoint: Endpoint) -> str:
    known: dict[str, str] = {
        "unreachable": f"{endpoint.base_url} cannot be reached.",
        "timeout": f"{endpoint.base_url} did not answer within {CHECK_TIMEOUT_S:.0f} seconds.",
        "HTTP 401": f"{endpoint.base_url} does not accept the key in {endpoint.key_env or 'no variable'}.",
        "HTTP 403": f"{endpoint.base_url} does not let this key in ({endpoint.key_env or 'no variable'}).",
        "rate limited": f"{endpoint.base_url} works, but asks for fewer calls just now.",
    }
    return known.get(error.cause, error.message)


def sdk_call(endpoint: Endpoint, call: Callable[[Any], Any], *, what: str) -> Any:
    """One SDK call on a client that is closed afterwards; failures become ProviderErrors."""
    with endpoint.client() as client:
        return provider_call(lambda: call(client), what=what)
