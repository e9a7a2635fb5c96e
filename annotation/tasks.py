"""The worker's side of annotation: leases end, splits are frozen, audited and exported, others are told what happened."""

from __future__ import annotations

from functools import partial

import structlog
from django.db import transaction
from django.utils import timezone

from annotation.models import Export, Round, SplitAudit
from annotation.services import (
    assignments_expire,
    audit_make,
    audits_due,
    chores_due,
    export_write,
    exports_due,
    freeze_run,
    freezes_due,
    items_recount,
    round_chore_run,
)
from annotation.services.audits import STEP
from annotation.services.webhooks import deliveries_due, delivery_send, events_collect
from eqstudio.jobs import cpu_task, io_task

logger = structlog.get_logger(__name__)


@io_task
def annotation_sweep() -> None:
    """End leases whose time is over, and hand out chores, freezes, exports and audits nobody works on."""
    now = timezone.now()
    assignments_expire(now=now)
    for chore in chores_due(now=now).only("pk"):
        transaction.on_commit(partial(chore_task.delay, chore.pk), robust=True)
    for freeze in freezes_due(now=now).only("pk"):
        transaction.on_commit(partial(freeze_task.delay, freeze.pk), robust=True)
    for export in exports_due(now=now).only("pk"):
        transaction.on_commit(partial(export_run.delay, export.pk), robust=True)
    for audit in audits_due(now=now).only("pk"):
        transaction.on_commit(partial(audit_run.delay, audit.pk), robust=True)
    events_collect(now=now)
    for pk in deliveries_due(now=now):
        transaction.on_commit(partial(delivery_run.delay, pk), robust=True)


@io_task
def delivery_run(delivery_id: int) -> None:
    """Tell one address of one event."""
    delivery_send(delivery_id=delivery_id, now=timezone.now())


@io_task
def chore_task(chore_id: int) -> None:
    """Do what was asked for of very many items of a round."""
    round_chore_run(chore_id=chore_id, now=timezone.now())


@io_task
def rounds_recount() -> None:
    """Hold the counts of open rounds against their leases, and tell what was wrong."""
    for round_ in Round.objects.filter(state=Round.State.OPEN):
        wrong = items_recount(round=round_)
        if wrong:
            logger.warning("items recounted", round=round_.uid, wrong=wrong)


@cpu_task
def export_run(export_id: int) -> None:
    """Write one requested export, or a step of it; the next step follows."""
    export = export_write(export_id=export_id, now=timezone.now())
    if export.state == Export.State.WAITING:
        transaction.on_commit(partial(export_run.delay, export_id), robust=True)


@cpu_task
def freeze_task(freeze_id: int) -> None:
    """Freeze what was asked for."""
    freeze_run(freeze_id=freeze_id, now=timezone.now())


@cpu_task
def audit_run(audit_id: int) -> None:
    """Make one requested audit, or a step of it; the next step follows."""
    now = timezone.now()
    audit = audit_make(audit_id=audit_id, now=now, until=now + STEP)
    if audit.state == SplitAudit.State.WAITING:
        transaction.on_commit(partial(audit_run.delay, audit_id), robust=True)
