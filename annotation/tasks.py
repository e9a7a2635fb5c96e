"""The worker's side of annotation: leases end, and splits are exported."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.utils import timezone

from annotation.models import Export
from annotation.services import assignments_expire, export_write, exports_due
from eqstudio.jobs import cpu_task, io_task


@io_task
def annotation_sweep() -> None:
    """End leases whose time is over, and hand out exports nobody works on."""
    now = timezone.now()
    assignments_expire(now=now)
    for export in exports_due(now=now).only("pk"):
        transaction.on_commit(partial(export_run.delay, export.pk), robust=True)


@cpu_task
def export_run(export_id: int) -> None:
    """Write one requested export, or a step of it; the next step follows."""
    export = export_write(export_id=export_id, now=timezone.now())
    if export.state == Export.State.WAITING:
        transaction.on_commit(partial(export_run.delay, export_id), robust=True)
