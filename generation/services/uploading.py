"""What somebody sent through the browser becomes dialogues: kept first, read by the worker, told row by row."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _

from eqstudio.blobs import STORAGE_ERRORS, storage_reason
from eqstudio.errors import InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from generation.importers import Refusal, importers
from generation.importers.tables import readable
from generation.importers.unpacking import Room, zip_unpack
from generation.models import Corpus, Dialogue, Upload, UploadRefusal
from generation.providers import transcribers
from generation.services.importing import import_walk

MAX_FILES = 2_000
MAX_ENTRIES = 20_000
MAX_UNPACKED_BYTES = 8 * 1024**3
LEASE = timedelta(minutes=5)
RENEW_S = 60.0
STEP_S = 240.0
"""How long a worker goes on before it hands over to the next step."""


class Step(NamedTuple):
    """What a worker came to: whether there is more to do."""

    more: bool


def upload_create(
    *,
    corpus: Corpus,
    files: Sequence[File[bytes]],
    format: str,  # noqa: A002 -- the word on the page and on the command line
    defaults: Mapping[str, str],
    actor: User | None = None,
) -> Upload:
    """Keep what was sent; a worker reads it. Side effects: the files in the storage, one Upload row and one Event.

    ``defaults`` may name the ``transcriber`` that is to listen. InvalidInput when nothing came, or too many files, or more
    than is taken; UnknownAlias for an unknown format or transcriber.
    """
    importers.get(format)
    if defaults.get("transcriber"):
        transcribers.get(defaults["transcriber"])
    total = _size_checked(files)
    upload = Upload(corpus=corpus, created_by=actor, format=format, defaults={k: v for k, v in defaults.items() if v})
    upload.files = [
        {"name": _name(file.name or "", number), "size": file.size or 0} for number, file in enumerate(files)
    ]
    try:
        for number, file in enumerate(files):
            default_storage.save(_key(upload, number), file)
    except STORAGE_ERRORS as error:
        with suppress(*STORAGE_ERRORS):  # a store that takes nothing may not delete either
            _forget(upload)
        raise StudioError(
            _("The files could not be stored: %(why)s. Nothing was kept.") % {"why": storage_reason(error)}
        ) from error
    with transaction.atomic():
        upload.save()
        event_record(actor=actor, verb="uploaded", entity=upload, corpus=corpus.name, files=len(files), bytes=total)
    return upload


def _size_checked(files: Sequence[File[bytes]]) -> int:
    """How many bytes came. InvalidInput when there are no files, or too many, or too large ones."""
    if not files:
        raise InvalidInput(_("No file came. Choose files or a zip, then send them."), field="sent")
    if len(files) > MAX_FILES:
        raise InvalidInput(
            _("%(found)d files came; at most %(most)d are taken at once. Put them into a zip.")
            % {"found": len(files), "most": MAX_FILES},
            field="sent",
        )
    total = sum(file.size or 0 for file in files)
    if total > settings.UPLOAD_MAX_BYTES:
        raise InvalidInput(
            _("%(found)d MB came; at most %(most)d MB are taken at once. Send them in parts.")
            % {"found": total // 10**6, "most": settings.UPLOAD_MAX_BYTES // 10**6},
            field="sent",
        )
    return total


ODD = (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError)
"""What a file raises that its reader trips over."""


def upload_run(*, upload_id: int, now: datetime) -> Step:
    """Read an upload on, for a few minutes; a row at a time, each with its count. Safe when two try: one holds the lease.

    Side effects: dialogues and clips, refusals, counts; at the end an Event, and the files that were sent are forgotten.
    """
    claimed = Upload.objects.filter(
        Q(lease_until=None) | Q(lease_until__lt=now), pk=upload_id, finished_at=None
    ).update(lease_until=now + LEASE)
    if not claimed:
        return Step(more=False)
    upload = Upload.objects.select_related("corpus").get(pk=upload_id)
    work = settings.DATA_DIR / "uploads"
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work, prefix=f"{upload.uid}-") as folder:
        return _walk(upload, Path(folder), now)


def _walk(upload: Upload, folder: Path, now: datetime) -> Step:
    refusals = _laid_out(upload, folder)
    error = ""
    started = renewed = time.monotonic()
    try:
        if upload.total is None:
            upload.total = len(refusals) + sum(1 for _row in importers.get(upload.format)().discover(folder))
            Upload.objects.filter(pk=upload.pk).update(total=upload.total)
        for outcome in _outcomes(upload, folder, refusals):
            if not _count(upload, outcome):
                return Step(more=False)  # somebody else reads it by now
            spent = time.monotonic()
            if spent - started > STEP_S:
                Upload.objects.filter(pk=upload.pk).update(lease_until=None)
                return Step(more=True)
            if spent - renewed > RENEW_S:
                renewed = spent
                until = now + timedelta(seconds=spent - started) + LEASE
                Upload.objects.filter(pk=upload.pk).update(lease_until=until)
    except InvalidInput as reason:
        error = reason.message.replace(str(folder), _("What was sent"))
        for refusal in refusals[upload.position :]:
            _count(upload, refusal)
    except ODD as reason:  # what no reader foresaw: told, instead of tried for ever
        error = _("The files cannot be read any further: %(why)s.") % {
            "why": f"{type(reason).__name__}: {reason}"[:200]
        }
    _finish(upload, now=now, error=readable(error))
    return Step(more=False)


def _outcomes(upload: Upload, folder: Path, refusals: list[Refusal]) -> Iterator[Dialogue | Refusal | None]:
    yield from refusals[upload.position :]
    start = max(0, upload.position - len(refusals))
    yield from import_walk(
        corpus=upload.corpus,
        path=folder,
        format=upload.format,
        defaults=upload.defaults,
        transcriber=upload.defaults.get("transcriber", ""),
        start=start,
    )


def _laid_out(upload: Upload, folder: Path) -> list[Refusal]:
    """Put the files that were sent into ``folder``, zips unpacked; what was left out, always in the same order."""
    room = Room(entries=MAX_ENTRIES, bytes=MAX_UNPACKED_BYTES)
    refusals: list[Refusal] = []
    for number, file in enumerate(upload.files):
        name = file["name"]
        with default_storage.open(_key(upload, number), "rb") as source:
            if PurePosixPath(name).suffix.lower() == ".zip":
                refusals += zip_unpack(source, name, folder, room)  # type: ignore[arg-type]
            elif (folder / name).exists():
                refusals.append(Refusal(name, "", _("Another file has the same name.")))
            else:
                with (folder / name).open("wb") as target:
                    shutil.copyfileobj(source, target, 1024 * 1024)
    return refusals


def _count(upload: Upload, outcome: Dialogue | Refusal | None) -> bool:
    """One more row is dealt with; False when another worker was here first."""
    column = {Dialogue: "made", Refusal: "refused"}.get(type(outcome), "skipped")
    with transaction.atomic():
        mine = Upload.objects.filter(pk=upload.pk, position=upload.position, finished_at=None)
        if not mine.update(position=F("position") + 1, **{column: F(column) + 1}):
            return False
        if isinstance(outcome, Refusal):
            UploadRefusal.objects.create(
                upload=upload,
                position=upload.position,
                path=readable(outcome.path),
                row=readable(outcome.row)[:200],
                reason=readable(outcome.reason),
            )
    upload.position += 1
    return True


@transaction.atomic
def _finish(upload: Upload, *, now: datetime, error: str) -> None:
    changed = Upload.objects.filter(pk=upload.pk, finished_at=None).update(
        finished_at=now, lease_until=None, error=error
    )
    if changed:
        upload.refresh_from_db()
        event_record(
            actor=upload.created_by,
            verb="imported",
            entity=upload.corpus,
            upload=upload.uid,
            format=upload.format,
            created=upload.made,
            skipped=upload.skipped,
            refused=upload.refused,
        )
        transaction.on_commit(lambda: _forget(upload))


def _forget(upload: Upload) -> None:
    for number in range(len(upload.files)):
        default_storage.delete(_key(upload, number))


def _key(upload: Upload, number: int) -> str:
    return f"uploads/{upload.uid}/{number:05d}"


def _name(name: str, number: int) -> str:
    """The last part of the name, as short as a file system needs it."""
    last = PurePosixPath(readable(name).replace("\\", "/")).name
    return last[-120:] if last not in ("", ".", "..") else f"file-{number}"
