"""A split leaves the studio: written into a folder that appears whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.exporters import exporters
from annotation.exporters.base import Progress, files_in
from annotation.models import Export, Split
from eqstudio.blobs import StorageFull
from eqstudio.errors import InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User

LEASE = timedelta(minutes=12)
State = Export.State


def split_export(
    *,
    split: Split,
    format: str,  # noqa: A002 -- the word of the command line
    output: Path,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a split in ``format`` into the new folder ``output``.

    Everything goes into a temporary folder beside it, which is renamed at the end: a failure leaves nothing behind.
    InvalidInput when ``output`` has something in it, UnknownAlias for a format there is not, StorageFull for a full disk.
    """
    exporter = exporters.get(format)()
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InvalidInput(_("%(path)s is not empty. Name a new folder.") % {"path": output}, field="output")
    with _beside(output) as partial:
        exporter.write(split=split, folder=partial, progress=progress or (lambda done: None))  # noqa: ARG005
        files = [
            {"path": path.relative_to(partial).as_posix(), "size": path.stat().st_size} for path in files_in(partial)
        ]
        if output.exists():
            output.rmdir()
        partial.replace(output)
    return {"split": str(split), "format": format, "output": str(output), "items": split.item_count, "files": files}


@contextmanager
def _beside(output: Path) -> Iterator[Path]:
    """A temporary folder on the same file system, gone at the end unless it was renamed."""
    partial: Path | None = None
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{output.name}-", suffix=".partial", dir=output.parent))
        partial.chmod(0o755)
        yield partial
    except OSError as error:
        raise StorageFull(
            _("The export could not be written (%(error)s). Nothing was left behind.")
            % {"error": error.strerror or error}
        ) from error
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)


@transaction.atomic
def export_request(*, split: Split, format: str, actor: User | None = None) -> Export:  # noqa: A002
    """Ask for an export in the background; one Event. The task that writes it is enqueued by whoever calls."""
    exporters.get(format)
    export = Export.objects.create(split=split, format=format, created_by=actor)
    event_record(actor=actor, verb="asked for export", entity=split, format=format, export=export.uid)
    return export


def exports_due(*, now: datetime) -> QuerySet[Export]:
    """Exports nobody works on: waiting ones, and running ones whose lease is over."""
    return Export.objects.filter(Q(state=State.WAITING) | Q(state=State.RUNNING, lease_until__lte=now))


def export_write(*, export_id: int, now: datetime) -> Export:
    """Write a requested export as a zip into the storage. Run twice, it is written once.

    Claims the row by one conditional UPDATE, renews its lease as it goes, ends DONE, or FAILED with what went wrong.
    """
    claimed = exports_due(now=now).filter(pk=export_id).update(state=State.RUNNING, lease_until=now + LEASE, done=0)
    export = Export.objects.select_related("split__round", "split__corpus").get(pk=export_id)
    if not claimed:
        return export

    def progress(done: int) -> None:
        Export.objects.filter(pk=export_id).update(done=done, lease_until=timezone.now() + LEASE)

    try:
        _write_zip(export, progress)
    except StudioError as error:
        Export.objects.filter(pk=export_id).update(state=State.FAILED, error=error.message, lease_until=None)
    else:
        Export.objects.filter(pk=export_id).update(state=State.DONE, error="", lease_until=None)
    export.refresh_from_db()
    return export


def export_key(export: Export) -> str:
    """Where the zip of an export lies in the storage."""
    return f"exports/{export.uid}.zip"


def _write_zip(export: Export, progress: Progress) -> None:
    work = Path(settings.DATA_DIR) / "exports"
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work) as temporary:
        folder = Path(temporary) / str(export.split)
        split_export(split=export.split, format=export.format, output=folder, progress=progress)
        try:
            packed = Path(temporary) / "packed.zip"
            with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                for path in files_in(folder):
                    archive.write(path, f"{export.split}/{path.relative_to(folder).as_posix()}")
            default_storage.delete(export_key(export))
            with packed.open("rb") as handle:
                default_storage.save(export_key(export), File(handle))
        except OSError as error:
            raise StorageFull(
                _("The export could not be stored (%(error)s). Free some space and ask again.")
                % {"error": error.strerror or error}
            ) from error
