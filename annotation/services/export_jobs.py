"""Exports in the background: asked for on a page, written by a worker in steps, stored as a zip that can be downloaded."""

from __future__ import annotations

import shutil
import zipfile
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.exporters import Options, exporters
from annotation.exporters.base import Progress
from annotation.exporters.sink import files_in
from annotation.models import Export, Split
from annotation.services.exports import split_export
from annotation.services.hub_push import export_push, push_check
from eqstudio.blobs import STORAGE_ERRORS, StorageFull, storage_reason
from eqstudio.errors import Conflict, StudioError
from eqstudio.events import event_record
from eqstudio.models import User

LEASE = timedelta(minutes=12)
STEP = timedelta(minutes=7)
"""A worker writes for so long, then hands the rest to the next step: a task may take ten minutes."""
State = Export.State
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Zips bear this date, so that the same export gives the same zip."""


class _StepOver(Exception):  # noqa: N818 -- no error: the next step goes on here
    pass


@transaction.atomic
def export_request(
    *,
    split: Split,
    format: str,  # noqa: A002 -- the word of the command line
    options: Options | None = None,
    repository: str = "",
    token_env: str = "",
    private: bool = True,
    actor: User | None = None,
) -> Export:
    """Ask for an export in the background, also to a hub if a ``repository`` is named; one Event.

    The task that writes it is enqueued by whoever calls. InvalidInput when the split has no such form or the repository or
    the variable of its token is misnamed.
    """
    exporters.get(format)().check(split)
    if repository:
        push_check(repository=repository, token_env=token_env)
    export = Export.objects.create(
        split=split,
        format=format,
        options=(options or Options()).as_dict(),
        repository=repository,
        token_env=token_env if repository else "",
        private=private,
        created_by=actor,
    )
    event_record(
        actor=actor, verb="asked for export", entity=split, format=format, export=export.uid, repository=repository
    )
    return export


@transaction.atomic
def export_retry(*, export: Export, actor: User | None = None) -> Export:
    """Ask again for a failed export; what it had written is continued. Conflict when it has not failed; one Event."""
    if not Export.objects.filter(pk=export.pk, state=State.FAILED).update(state=State.WAITING, error=""):
        raise Conflict(_("This export has not failed, so there is nothing to try again. Look at how far it is."))
    event_record(actor=actor, verb="asked for export", entity=export.split, format=export.format, export=export.uid)
    export.refresh_from_db()
    return export


def exports_due(*, now: datetime) -> QuerySet[Export]:
    """Exports nobody works on: waiting ones, and running ones whose lease is over."""
    return Export.objects.filter(Q(state=State.WAITING) | Q(state=State.RUNNING, lease_until__lte=now))


def export_write(*, export_id: int, now: datetime) -> Export:
    """Write a requested export as a zip into the storage, or a step of it. Run twice, it is written once.

    Claims the row by one conditional UPDATE, renews its lease as it goes, ends DONE, FAILED with what went wrong (what was
    written stays for another try), or WAITING when its step is over and the next one has to go on.
    """
    claimed = exports_due(now=now).filter(pk=export_id).update(state=State.RUNNING, lease_until=now + LEASE)
    export = Export.objects.select_related("split__round", "split__corpus").get(pk=export_id)
    if not claimed:
        return export
    end = now + STEP

    def progress(done: int) -> None:
        at = timezone.now()
        Export.objects.filter(pk=export_id).update(done=done, lease_until=at + LEASE)
        if at > end:
            raise _StepOver

    try:
        told = _write(export, progress)
    except _StepOver:
        ending: dict[str, Any] = {"state": State.WAITING}
    except StudioError as error:
        ending = {"state": State.FAILED, "error": error.message}
    else:
        ending = {"state": State.DONE, "error": "", **told}
    Export.objects.filter(pk=export_id).update(lease_until=None, **ending)
    export.refresh_from_db()
    return export


def export_key(export: Export) -> str:
    """Where the zip of an export lies in the storage."""
    return f"exports/{export.uid}.zip"


def _write(export: Export, progress: Progress) -> dict[str, Any]:
    """Write the folder, send it to the hub if asked, pack it, store it, clear up; what there is to remember of it."""
    work = Path(settings.DATA_DIR) / "exports" / export.uid
    folder = work / str(export.split)
    pushed: dict[str, Any] = {}
    try:
        if not folder.exists():
            work.mkdir(parents=True, exist_ok=True)
            options = Options.from_dict(export.options)
            split_export(
                split=export.split, format=export.format, output=folder, resume=True, options=options, progress=progress
            )
        if export.repository:
            pushed = export_push(
                folder=folder,
                repository=export.repository,
                token_env=export.token_env,
                private=export.private,
                progress=lambda: progress(export.split.item_count),
            )
        size = _store(folder, work / "packed.zip", export_key(export))
    except STORAGE_ERRORS as error:
        raise StorageFull(
            _("The export could not be stored (%(error)s). Free some space and try again; what was written is kept.")
            % {"error": storage_reason(error)}
        ) from error
    shutil.rmtree(work, ignore_errors=True)
    return {"size": size, "pushed": pushed}


def _store(folder: Path, packed: Path, key: str) -> int:
    """Pack ``folder`` and put the zip into the storage; on a file system it is moved there, so it is whole or not there."""
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for path in files_in(folder):
            entry = zipfile.ZipInfo(f"{folder.name}/{path.relative_to(folder).as_posix()}", _EPOCH)
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, 1024 * 1024)
    size = packed.stat().st_size
    if isinstance(default_storage._wrapped, FileSystemStorage):  # type: ignore[attr-defined]  # noqa: SLF001 -- no public way
        final = Path(default_storage.path(key))
        final.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            packed.rename(final)
            return size
        partial = final.with_name(f".{final.name}.partial")  # another file system
        shutil.copyfile(packed, partial)
        partial.replace(final)
        return size
    default_storage.delete(key)
    with packed.open("rb") as handle:
        default_storage.save(key, File(handle))
    return size
