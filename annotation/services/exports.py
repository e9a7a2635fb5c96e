"""A split leaves the studio: written into a folder that appears whole or not at all, and can be continued after a kill."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from annotation.exporters import Exporter, Options, exporters
from annotation.exporters.base import Progress, Work
from annotation.exporters.papers import papers_write
from annotation.exporters.sink import Sink
from annotation.models import Split
from eqstudio.blobs import StorageFull
from eqstudio.errors import InvalidInput, StudioError

FORMAT_VERSION = 3
"""Part of what an export is: one that an earlier version began is not continued by a later one that writes otherwise."""

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def split_export(
    *,
    split: Split,
    format: str,  # noqa: A002 -- the word of the command line
    output: Path,
    resume: bool = False,
    options: Options | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a split in ``format`` into the new folder ``output``.

    Everything goes into a partial folder beside it, which is renamed at the end. With ``resume`` a partial folder of the same
    export is continued, and after a failure it stays; without, one that is there is begun anew, and a failure leaves nothing.
    The result is the same bytes either way.

    InvalidInput when ``output`` has something in it or cannot be, the split does not have this form or a clip or text is broken
    (with the item's id); UnknownAlias for a format there is not; Conflict while somebody else writes it; StorageFull for a full disk.
    """
    exporter = exporters.get(format)()
    exporter.check(split)
    output = output.resolve()  # "." has no name
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise InvalidInput(_("%(path)s is not empty. Name a new folder.") % {"path": output}, field="output")
    partial = output.with_name(f".{output.name}.partial")
    chosen = options or Options()
    with _partial(partial, resume=resume), Sink(partial, _identity(split, exporter, chosen)) as sink:
        exporter.write(Work(split, sink, progress or (lambda done: None), chosen))  # noqa: ARG005
        papers_write(split, exporter, sink)
        sink.finish(output)
    written = [{"path": name, "size": told.size, "sha256": told.sha256} for name, told in sink.files()]
    return {"split": str(split), "format": format, "output": str(output), "items": split.item_count, "files": written}


def export_is(
    *,
    folder: Path,
    split: Split,
    format: str,  # noqa: A002 -- the word of the command line
    options: Options,
) -> bool:
    """Whether a finished export in ``folder`` is this one: the same split, format and options, written as now."""
    try:
        told = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("export") == _identity(split, exporters.get(format)(), options)


def _identity(split: Split, exporter: Exporter, options: Options) -> dict[str, Any]:
    return {
        "version": FORMAT_VERSION,
        "split": split.uid,
        "manifest_hash": split.manifest_hash,
        "format": exporter.alias,
        "options": options.as_dict(),
    }


@contextmanager
def _partial(partial: Path, *, resume: bool) -> Iterator[None]:
    """Begin anew unless ``resume``; after a failure clear up, or say what stays."""
    failed = True
    try:
        partial.parent.mkdir(parents=True, exist_ok=True)
        if not resume:
            Sink.clear(partial)
        yield
        failed = False
    except OSError as error:
        raise _unwritten(error, resume=resume) from error
    finally:
        if failed and not resume:
            shutil.rmtree(partial, ignore_errors=True)


def _unwritten(error: OSError, *, resume: bool) -> StudioError:
    """What to tell and do; space is spoken of only where it ran out."""
    what = {"error": error.strerror or error}
    if error.errno not in NO_SPACE:
        return InvalidInput(
            _("The export cannot be written there (%(error)s). Name another folder.") % what, field="output"
        )
    kept = (
        _("What was written is kept: free some space and resume.")
        if resume
        else _("Nothing was left behind: free some space and export again.")
    )
    return StorageFull(_("The export could not be written (%(error)s). %(kept)s") % {**what, "kept": kept})
