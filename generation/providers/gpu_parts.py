"""What the models on an accelerator share: one clear error without their packages, and one model per process."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from eqstudio.errors import GiveUp, ProviderError, Retry

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def gpu_packages(what: str) -> Iterator[None]:
    """Turn a missing package, missing weights and a missing accelerator into errors that say what to do."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ProviderError(
            _(
                "%(what)s needs the package %(name)r, which is not installed here. Install requirements-gpu.txt on the "
                "machine with the accelerator, and start its worker there: celery -A eqstudio worker -Q gpu."
            )
            % {"what": what, "name": error.name},
            cause="not installed",
            decision=GiveUp(),
        ) from error
    except OSError as error:
        raise ProviderError(
            _("%(what)s: its weights cannot be loaded: %(why)s") % {"what": what, "why": str(error)[:300]},
            cause="no weights",
            decision=GiveUp(),
        ) from error


@contextmanager
def gpu_memory(torch: Any, what: str) -> Iterator[None]:
    """Out of memory: what can be freed is freed, and the call is tried again in a while."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise ProviderError(
            _("%(what)s: the accelerator has no memory left for this call.") % {"what": what},
            cause="out of memory",
            decision=Retry(30),
        ) from error


def device_of(torch: Any, what: str) -> str:
    """The accelerator's name; ProviderError when torch sees none."""
    if not torch.cuda.is_available():
        raise ProviderError(
            _("%(what)s needs an accelerator, and torch sees none on this machine.") % {"what": what},
            cause="no accelerator",
            decision=GiveUp(),
        )
    return "cuda:0"
