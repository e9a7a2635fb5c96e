"""Before a provider is asked: too often, by too many at once, or earlier than it said.

What is known of a provider is rows, so it holds for all workers. Nobody waits here for long: who cannot be let through
soon is told when to come back, and the step is put off until then.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Semaphore

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.errors import StudioError
from eqstudio.ids import uid
from eqstudio.prepared import Prepared
from generation.models import ProviderGate, ProviderSlot
from generation.services.leases import process_is_gone, process_name

SLOT = timedelta(minutes=4)
"""Longer than one call; a slot that is handed on is renewed when half of it is over."""
PATIENCE_S = 2.0
"""How long one waits for a slot of its own process before the step is put off."""
LOOK_S = 0.25
"""How long a look at a gate is good for: other processes learn of a closed one that much later."""
LONGEST_PAUSE_S = 3600.0
COME_BACK_S = 1.0
_MINUTE_S = 60.0


class Busy(StudioError):  # noqa: N818 -- named for what happened
    """The provider may not be asked now; come back in ``after_s`` seconds. No attempt of the dialogue's is used up."""

    def __init__(self, message: str, *, after_s: float) -> None:
        super().__init__(message)
        self.after_s = after_s


@dataclass(frozen=True)
class Limits:
    """What a provider allows; None for no limit of ours."""

    concurrency: int | None = None
    per_minute: int | None = None


def limits_of(*, kind: str, alias: str) -> Limits:
    """The limits set for ``kind:alias``, else for ``alias`` in any kind."""
    known = settings.PROVIDER_LIMITS
    found = known.get(f"{kind}:{alias}", known.get(alias, {}))
    return Limits(found.get("concurrency"), found.get("per_minute"))


@contextmanager
def gate_pass(*, kind: str, alias: str) -> Iterator[None]:
    """Hold the right to ask a provider while the block lasts. Busy says when to come back.

    Side effects: a slot is taken and given back, or handed to a thread of this process that waits for one; the time of
    the next call is moved on where there is a limit per minute.
    """
    name, limits = f"{kind}:{alias}", limits_of(kind=kind, alias=alias)
    _open_check(name)
    if limits.concurrency is None:
        _pace(name, limits)
        yield
        return
    slot = _slots(name).take(limits.concurrency)
    try:
        _pace(name, limits)
        yield
    finally:
        _slots(name).give(slot)


def calls_share(permits: Semaphore) -> None:
    """From now on this thread asks providers only while it holds one of ``permits``, which its lanes share."""
    _lane.permits = permits


def call_permit() -> AbstractContextManager[object]:
    """What a thread holds while a call lasts, and not while it stores what came: then another one may call.

    It may be waited for as long as a call lasts, so it comes before the gate, the budget and the lease are looked at.
    """
    return getattr(_lane, "permits", None) or nullcontext()


def gate_close(*, kind: str, alias: str, after_s: float) -> None:
    """The provider asked to be left alone for ``after_s`` seconds: no process asks it before. A later time stands."""
    until = timezone.now() + timedelta(seconds=min(after_s, LONGEST_PAUSE_S))
    gate, _new = ProviderGate.objects.get_or_create(name=f"{kind}:{alias}")
    ProviderGate.objects.filter(Q(not_before=None) | Q(not_before__lt=until), pk=gate.pk).update(not_before=until)
    _seen_open.pop(gate.name, None)


_NOT_BEFORE = Prepared[datetime | None](
    lambda name: ProviderGate.objects.filter(name=name).values_list("not_before", flat=True).order_by()
)


def _open_check(name: str) -> None:
    """Look at the gate, unless it was open a moment ago."""
    if time.monotonic() - _seen_open.get(name, -LOOK_S) < LOOK_S:
        return
    until = _NOT_BEFORE.first(name=name)
    left = (until - timezone.now()).total_seconds() if until else 0.0
    if left > 0:
        raise Busy(
            _("%(provider)s asked not to be called again for another %(seconds)d seconds.")
            % {"provider": name, "seconds": round(left)},
            after_s=left,
        )
    _seen_open[name] = time.monotonic()


def _pace(name: str, limits: Limits) -> None:
    """Move the time of the next call on by one step; a second's worth of calls may come at once."""
    if not limits.per_minute:
        return
    step = timedelta(seconds=_MINUTE_S / limits.per_minute)
    burst = max(timedelta(seconds=1), step)
    ProviderGate.objects.get_or_create(name=name)
    with transaction.atomic():
        gate = ProviderGate.objects.select_for_update().get(name=name)
        now = timezone.now()
        free = max(gate.next_free or now, now)
        if free + step - now <= burst:
            gate.next_free = free + step
            gate.save(update_fields=["next_free"])
            return
    wait = (free + step - now - burst).total_seconds()
    raise Busy(
        _("%(provider)s takes %(limit)d calls a minute, and they are used up.")
        % {"provider": name, "limit": limits.per_minute},
        after_s=max(wait, COME_BACK_S),
    )


@dataclass
class _Slot:
    pk: int
    holder: str
    until: datetime


@dataclass
class _Slots:
    """The slots of one provider that this process holds: given to whoever of its threads waits first, else given back."""

    name: str
    lock: threading.Condition = field(default_factory=threading.Condition)
    waiting: int = 0
    handed: list[_Slot] = field(default_factory=list)

    def take(self, limit: int) -> _Slot:
        slot = self._claim(limit)
        deadline = time.monotonic() + PATIENCE_S
        while slot is None:
            with self.lock:
                self.waiting += 1
                self.lock.wait_for(lambda: self.handed, timeout=max(0.0, deadline - time.monotonic()))
                self.waiting -= 1
                slot = self.handed.pop() if self.handed else None
            if slot is None:
                slot = self._claim(limit)
            if slot is None and time.monotonic() >= deadline:
                raise Busy(
                    _("%(provider)s is asked %(limit)d times at once already.")
                    % {"provider": self.name, "limit": limit},
                    after_s=COME_BACK_S,
                )
        return slot

    def give(self, slot: _Slot) -> None:
        with self.lock:
            if self.waiting > len(self.handed) and slot.until - timezone.now() > SLOT / 2:
                self.handed.append(slot)
                self.lock.notify()
                return
        ProviderSlot.objects.filter(pk=slot.pk, holder=slot.holder).update(holder="", until=None)

    def _claim(self, limit: int) -> _Slot | None:
        return self._claim_free(limit) or (self._claim_free(limit) if self._make(limit) else None)

    def _claim_free(self, limit: int) -> _Slot | None:
        free = Q(until=None) | Q(until__lte=timezone.now())
        holder = f"{process_name()}:{uid()}"
        for pk in ProviderSlot.objects.filter(free, gate=self.name, number__lt=limit).values_list("pk", flat=True):
            until = timezone.now() + SLOT
            if ProviderSlot.objects.filter(free, pk=pk).update(holder=holder, until=until):
                return _Slot(pk, holder, until)
        return None

    def _make(self, limit: int) -> bool:
        """Make the slots that a new or higher limit lacks; whether there were any."""
        known = set(ProviderSlot.objects.filter(gate=self.name).values_list("number", flat=True))
        missing = [ProviderSlot(gate=self.name, number=number) for number in range(limit) if number not in known]
        ProviderSlot.objects.bulk_create(missing, ignore_conflicts=True)
        return bool(missing)


_seen_open: dict[str, float] = {}
_lane = threading.local()
_held: dict[tuple[int, str], _Slots] = {}
_held_lock = threading.Lock()


def _slots(name: str) -> _Slots:
    """Those of this process: a fork starts with none."""
    key = (os.getpid(), name)
    with _held_lock:
        return _held.setdefault(key, _Slots(name))


def slots_reclaim(*, now: datetime) -> int:
    """Free the slots of processes of this host that are gone. Returns how many came free."""
    held = ProviderSlot.objects.filter(until__gt=now).exclude(holder="")
    owners = set(held.order_by().values_list("holder", flat=True).distinct())
    gone = [owner for owner in owners if process_is_gone(owner)]
    return ProviderSlot.objects.filter(holder__in=gone).update(holder="", until=None) if gone else 0
