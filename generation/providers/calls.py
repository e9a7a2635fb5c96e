"""What every provider behind an OpenAI-compatible endpoint shares: timing, cost and the check."""

from __future__ import annotations

import difflib
import time
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.translation import gettext as _

from eqstudio.errors import ProviderError, StudioError
from eqstudio.net import not_an_api, provider_call
from generation.providers.base import NO_CREDIT, NOT_AN_API, RATE_LIMITED, UNREACHABLE, CheckResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from eqstudio.net import Endpoint

CHECK_TIMEOUT_S = 20.0
NO_SUCH_MODEL = frozenset({"HTTP 404"})
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


def cost(
    model: str,
    *,
    tokens_in: int | None = None,
    tokens_out: int | None = None,
    characters: int | None = None,
    seconds: float | None = None,
) -> Decimal | None:
    """US dollars by the price list in settings; None when the model has no price, or when what the price is for is not
    known of this call.
    """
    price = settings.PRICES.get(model)
    if not price:
        return None
    amounts = {
        "in": None if tokens_in is None else Decimal(tokens_in) / _MILLION,
        "out": None if tokens_out is None else Decimal(tokens_out) / _MILLION,
        "characters": None if characters is None else Decimal(characters) / _MILLION,
        "minute": None if seconds is None else Decimal(str(seconds)) / 60,
    }
    priced = [(Decimal(str(each)), amounts[unit]) for unit, each in price.items()]
    known = [each * amount for each, amount in priced if amount is not None]
    return sum(known, Decimal(0)) if len(known) == len(priced) else None


def endpoint_check(endpoint: Endpoint, model: str, *, what: str) -> CheckResult:
    """Ask an endpoint for its models: a call that costs nothing and proves address, key and model name."""
    try:
        client = endpoint.client().with_options(timeout=CHECK_TIMEOUT_S, max_retries=0)
        with client:
            listed = provider_call(lambda: _models(client, what), what=what)
    except StudioError as error:
        return CheckResult(ok=False, message=in_words(error, base_url=endpoint.base_url, key_env=endpoint.key_env))
    if listed and model not in listed:
        return CheckResult(ok=False, message=_no_model(endpoint.base_url, model, listed))
    return CheckResult(
        ok=True, message=_("%(url)s answers and knows %(model)s.") % {"url": endpoint.base_url, "model": model}
    )


def call_check(endpoint: Endpoint, model: str, call: Callable[[Endpoint], Any], *, what: str) -> CheckResult:
    """Make one small call for real (``call`` gets the endpoint with a shorter deadline) and say in words what came of it; only that shows whether there is credit."""
    if not model or not endpoint.base_url:
        return CheckResult(ok=False, message=unset(what))
    small = replace(endpoint, timeout_s=CHECK_TIMEOUT_S, max_retries=0)
    try:
        call(small)
    except ProviderError as error:
        if error.cause in NO_SUCH_MODEL:
            return CheckResult(ok=False, message=_no_model(endpoint.base_url, model, _listed(small)))
        return CheckResult(ok=False, message=in_words(error, base_url=endpoint.base_url, key_env=endpoint.key_env))
    except StudioError as error:
        return CheckResult(ok=False, message=error.message)
    return CheckResult(
        ok=True, message=_("%(url)s answers with %(model)s.") % {"url": endpoint.base_url, "model": model}
    )


def in_words(error: StudioError, *, base_url: str, key_env: str) -> str:
    """What a failed check means for whoever set the provider up."""
    if not isinstance(error, ProviderError):
        return error.message
    told = {"url": base_url, "key": key_env or _("no variable"), "seconds": f"{CHECK_TIMEOUT_S:.0f}"}
    known: dict[str, str] = {
        UNREACHABLE: _("%(url)s cannot be reached."),
        "timeout": _("%(url)s did not answer within %(seconds)s seconds."),
        "HTTP 401": _("%(url)s does not accept the key in %(key)s."),
        "HTTP 403": _("%(url)s does not let this key in (%(key)s)."),
        RATE_LIMITED: _("%(url)s works, but asks for fewer calls just now."),
        NO_CREDIT: _("%(url)s accepts the key in %(key)s, but its account has no credit left."),
        NOT_AN_API: _("%(url)s answers with a web page: this is not the address of an API. It often ends in /v1."),
    }
    return known[error.cause] % told if error.cause in known else error.message


def unset(what: str) -> str:
    """The message for a provider whose address or model is still to be set."""
    return _("%(what)s: its base URL or its model is not set; .env.example names the settings.") % {"what": what}


def answered(answer: Any, what: str) -> Any:
    """Give the answer back unless it is a web page, which the SDK passes on as it came."""
    if isinstance(answer, str) or (isinstance(answer, bytes) and answer[:512].lstrip().startswith(b"<")):
        raise not_an_api(what)
    return answer


def sdk_call(endpoint: Endpoint, call: Callable[[Any], Any], *, what: str) -> Any:
    """One SDK call on this process' open connections; failures become ProviderErrors. Nothing is tried again in here:
    every call has its row in the ledger.
    """
    client = replace(endpoint, max_retries=0).shared()
    return answered(provider_call(lambda: call(client), what=what), what)


def _listed(endpoint: Endpoint) -> set[str]:
    try:
        listed: set[str] = sdk_call(endpoint, lambda client: _models(client, "models"), what="models")
    except StudioError:
        return set()
    return listed


def _models(client: Any, what: str) -> set[str]:
    return {str(entry.id) for entry in answered(client.models.list(), what)}


def _no_model(url: str, model: str, listed: set[str]) -> str:
    said = _("%(url)s answers, but it has no model %(model)r.") % {"url": url, "model": model}
    near = difflib.get_close_matches(model, listed, n=3, cutoff=0.3)
    return said + (" " + _("It has: %(models)s.") % {"models": ", ".join(sorted(near))} if near else "")
