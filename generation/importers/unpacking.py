"""A zip that a stranger sent, laid out in a folder: nothing outside of it, nothing larger than agreed, nothing but files."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from django.utils.translation import gettext as _

from generation.importers.base import Refusal

BLOCK = 1024 * 1024
MAX_RATIO = 200
RATIO_FROM_BYTES = 10 * 1024 * 1024
"""What is smaller may be as dense as it likes: a silent minute packs well and harms nobody."""
MAX_NAME = 180
_LITTER = ("._", ".DS_Store", "Thumbs.db")
"""What systems put into a zip unasked."""


@dataclass
class Room:
    """What may still be unpacked; it shrinks."""

    entries: int
    bytes: int


def zip_unpack(source: IO[bytes], name: str, folder: Path, room: Room) -> Iterator[Refusal]:
    """Unpack ``source`` into ``folder`` and yield what was left out, with the reason. Bytes are counted as they come, since
    a header may lie; once there is no more room the rest is left out.
    """
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield Refusal(name, "", _("This zip cannot be read: %(why)s.") % {"why": error})
        return
    with archive:
        if len(archive.infolist()) > room.entries:
            reason = _("The zip has %(found)d entries; at most %(most)d are taken. Send it in parts.")
            yield Refusal(name, "", reason % {"found": len(archive.infolist()), "most": room.entries})
            return
        for entry in archive.infolist():
            if entry.is_dir() or PurePosixPath(entry.filename).name.startswith(_LITTER):
                continue
            room.entries -= 1
            left_out = _entry(archive, entry, folder, room)
            if left_out:
                yield Refusal(f"{name}:{entry.filename[:MAX_NAME]}", "", left_out)
            if room.bytes < 0:
                return


def name_of(entry: zipfile.ZipInfo) -> str:
    """The name as its writer meant it: old Windows programs write Chinese names in GB 18030 without saying so."""
    if entry.flag_bits & 0x800:
        return entry.filename
    raw = entry.filename.encode("cp437", errors="replace")
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return entry.filename


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, room: Room) -> str | None:
    """Write one entry; the reason, if it was left out."""
    plain = PurePosixPath(name_of(entry).replace("\\", "/"))
    unwanted = _unwanted(entry, plain)
    if unwanted:
        return unwanted
    target = folder / plain
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as packed, target.open("xb") as unpacked:
            reason = _copy(packed, unpacked, entry, room)
    except FileExistsError:
        return _("Another file has the same name.")
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        reason = _("It cannot be unpacked: %(why)s.") % {"why": error}
    if reason and target.is_file():
        target.unlink()
    return reason


def _unwanted(entry: zipfile.ZipInfo, plain: PurePosixPath) -> str | None:
    """Why an entry is not even opened."""
    mode = entry.external_attr >> 16
    name = plain.as_posix()
    reasons = {
        _("Its name leads out of the folder."): plain.is_absolute()
        or ".." in plain.parts
        or ":" in name
        or "\x00" in name,
        _("It is a link or a device, not a file."): stat.S_IFMT(mode) not in (0, stat.S_IFREG),
        _("It is encrypted."): bool(entry.flag_bits & 0x1),
        _("It is a zip inside a zip; send it on its own."): plain.suffix.lower() == ".zip",
        _("Its name is too long."): any(len(part.encode(errors="replace")) > MAX_NAME for part in plain.parts),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _copy(packed: IO[bytes], unpacked: IO[bytes], entry: zipfile.ZipInfo, room: Room) -> str | None:
    size = 0
    while block := packed.read(BLOCK):
        size += len(block)
        room.bytes -= len(block)
        if room.bytes < 0:
            return _("There is no more room: the whole unpacks to more than is taken. Send it in parts.")
        if size > RATIO_FROM_BYTES and size > MAX_RATIO * max(1, entry.compress_size):
            room.bytes += size
            return _("It unpacks to more than %(ratio)d times its size, as only a zip bomb does.") % {
                "ratio": MAX_RATIO
            }
        unpacked.write(block)
    return None
