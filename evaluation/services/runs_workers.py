"""Who works on a run: one row a worker and step, with how far it came and what it took of the machine."""

from __future__ import annotations

import time
from datetime import datetime

from django.utils import timezone

from evaluation.models import RunWorker, Sitting
from evaluation.services.provenance import git_revision
from evaluation.services.runs_backend import memory_now
from generation.services.leases import process_name

TELL_S = 2.0


class Log:
    """What one worker writes down about itself, at most every two seconds. Steps of one process are one row."""

    def __init__(self, sitting: Sitting, *, now: datetime, load_s: float | None = None) -> None:
        self.calls = 0
        self._told = 0.0
        name = process_name()
        mine = RunWorker.objects.filter(sitting=sitting, holder=name).first()
        self._row = mine or RunWorker(
            sitting=sitting, holder=name, began=now, seen=now, git_revision=git_revision()[:60], load_s=load_s
        )
        self._before = (self._row.answered, self._row.calls)
        if load_s is not None:
            self._row.load_s = load_s

    def tell(self, *, answered: int, now: datetime) -> None:
        moment = time.monotonic()
        if moment - self._told >= TELL_S:
            self._told = moment
            self._write(answered, now)

    def close(self, *, answered: int) -> None:
        """Write the last figures; a worker that found nothing to do leaves no row."""
        if self._row.pk or self.calls or answered:
            self._write(answered, timezone.now())

    def _write(self, answered: int, now: datetime) -> None:
        memory = memory_now()
        row = self._row
        row.answered, row.calls, row.seen = self._before[0] + answered, self._before[1] + self.calls, now
        row.memory_mib, row.device, row.device_mib = memory.resident, memory.device[:80], memory.on_device
        row.save()
