"""The backend of a run: made for a sitting, its model in memory once in a process, and what it takes of the machine."""

from __future__ import annotations

import resource
import sys
import threading
import time
from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, InvalidInput
from evaluation.backends import Backend, backends, evaluators
from evaluation.backends.base import Exam
from evaluation.models import Sitting, Study
from evaluation.services.asked import instructions_for

_MIB = 1024 * 1024
_lock = threading.Lock()


def backend_make(study: Study, alias: str, evaluator: str, *, seed: int) -> Backend:
    """A backend for a study. InvalidInput for a fake in production; UnknownAlias names the kinds there are."""
    kind = backends.get(alias)
    if settings.PRODUCTION and kind.is_fake:
        raise InvalidInput(_("%(alias)s is a fake: it is refused in production.") % {"alias": alias}, field="backend")
    asks = evaluators.get(evaluator)()
    if settings.PRODUCTION and asks.is_fake:
        raise InvalidInput(
            _("%(alias)s is a fake: it is refused in production.") % {"alias": evaluator}, field="evaluator"
        )
    return kind(Exam(instructions=instructions_for(study, asks), seed=seed), asks)


def backend_of(*, sitting: Sitting) -> Backend:
    """The backend a sitting was begun with. Conflict where the settings now mean another model."""
    respondent = sitting.respondent
    if respondent.run_spec is None:
        raise Conflict("This sitting is not a model's.")
    content = respondent.run_spec.content
    seed = sitting.order_seed + sitting.run
    backend = backend_make(respondent.study, content["backend"], content["evaluator"], seed=seed)
    if (backend.model, backend.parameters()) != (content["model"], content["parameters"]):
        raise Conflict(
            f"This run was begun with {content['model']}, the settings now say {backend.model}. "
            "Set them back to go on, or start a new run."
        )
    return backend


@dataclass
class _Seat:
    """The one model that this process has in memory."""

    key: tuple[object, ...] = ()
    backend: Backend | None = None


_seat = _Seat()


def backend_seated(*, backend: Backend) -> tuple[Backend, float | None]:
    """The backend with its model in memory, and how many seconds that took; None where it was there already.

    A process that computes holds one model: another one is let go of first. Backends that wait for somebody else are
    loaded and handed back as they are.
    """
    if backend.queue != "gpu":
        backend.load()
        return backend, None
    key = (type(backend), backend.model, repr(sorted(backend.parameters().items())))
    with _lock:
        if _seat.backend is not None and _seat.key == key:
            _seat.backend.exam, _seat.backend.evaluator = backend.exam, backend.evaluator
            return _seat.backend, None
        if _seat.backend is not None:
            _seat.backend.close()
            _seat.backend, _seat.key = None, ()
        began = time.monotonic()
        backend.load()
        _seat.backend, _seat.key = backend, key
        return backend, time.monotonic() - began


def backend_leave(*, backend: Backend) -> None:
    """Let go of what a backend holds open; a model that computes here stays in memory for the next sitting."""
    if backend is not _seat.backend:
        backend.close()


@dataclass(frozen=True)
class Memory:
    """MiB at the peak: of this process, and on the device where there is one."""

    resident: float
    device: str = ""
    on_device: float | None = None


def memory_now() -> Memory:
    """Asks torch only where a backend has imported it."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resident = peak / (_MIB if sys.platform == "darwin" else 1024)
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return Memory(resident)
    taken = sum(torch.cuda.max_memory_allocated(number) for number in range(torch.cuda.device_count()))
    return Memory(resident, str(torch.cuda.get_device_name(0)), taken / _MIB)
