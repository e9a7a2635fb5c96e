"""Content-addressed files behind Django's default storage: written once, named by SHA-256, never changed."""

from __future__ import annotations

import hashlib
import uuid
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage

from eqstudio.errors import StudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKET_ERRORS = (BotoCoreError, ClientError)
STORAGE_ERRORS = (OSError, *BUCKET_ERRORS)
"""What a storage raises that does not take or give a file: a file system the first, an S3-compatible store any of them."""


class StorageFull(StudioError):  # noqa: N818 -- named for what happened
    """The disk or bucket did not take the file; nothing was left half written."""

    status = 507


def blob_key(sha256: str) -> str:
    return f"clips/{sha256[:2]}/{sha256[2:4]}/{sha256}"


def blob_put(data: bytes) -> str:
    """Store ``data`` and return its SHA-256 hex digest. Storing the same bytes twice is harmless.

    On a file system the bytes go to a temporary name first and are renamed, so a partial file never has the final name.
    Raises StorageFull when the storage refuses.
    """
    sha256 = hashlib.sha256(data).hexdigest()
    key = blob_key(sha256)
    try:
        if default_storage.exists(key):
            return sha256
        if isinstance(default_storage._wrapped, FileSystemStorage):  # type: ignore[attr-defined]  # noqa: SLF001 -- no public way
            _write_atomically(Path(default_storage.path(key)), data)
        else:
            default_storage.save(key, ContentFile(data))
    except STORAGE_ERRORS as error:
        raise StorageFull(
            f"Could not store {len(data)} bytes: {storage_reason(error)}. Free some space and try again."
        ) from error
    return sha256


def storage_reason(error: Exception) -> str:
    """Why, in the storage's own words; of a file system without the path."""
    return getattr(error, "strerror", None) or str(error).rstrip(".")


def _write_atomically(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{uuid.uuid4().hex}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def blob_size(sha256: str) -> int:
    """How many bytes are stored; FileNotFoundError if they are gone."""
    return default_storage.size(blob_key(sha256))


def blob_whole(sha256: str, size: int) -> bool:
    """Whether as many bytes are there as were stored; cheap, so it does not notice bytes that only differ."""
    try:
        return blob_size(sha256) == size
    except FileNotFoundError:
        return False


def blob_same(sha256: str) -> bool:
    """Whether the stored bytes are still those that their name tells. Reads them."""
    digest = hashlib.sha256()
    try:
        with blob_open(sha256) as handle:
            while block := handle.read(1024 * 1024):
                digest.update(block)
    except FileNotFoundError:
        return False
    return digest.hexdigest() == sha256


@contextmanager
def blob_open(sha256: str) -> Iterator[IO[bytes]]:
    """Open stored bytes for reading; FileNotFoundError if they are gone."""
    with default_storage.open(blob_key(sha256), "rb") as handle:
        yield handle  # type: ignore[misc]


def blob_read(sha256: str) -> bytes:
    """All of the stored bytes; FileNotFoundError if they are gone. On a file system without the storage's detours."""
    storage = default_storage._wrapped  # type: ignore[attr-defined]  # noqa: SLF001 -- no public way
    if isinstance(storage, FileSystemStorage):
        with open(f"{storage.location}/{blob_key(sha256)}", "rb", buffering=0) as file:  # noqa: PTH123 -- 80,000 times
            return file.read()
    with blob_open(sha256) as handle:
        return handle.read()
