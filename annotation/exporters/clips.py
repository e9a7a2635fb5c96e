"""The original bytes of clips, held against what was frozen, read ahead of whoever writes them."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from annotation.exporters.rows import variants_of
from eqstudio.blobs import blob_read
from eqstudio.errors import InvalidInput

T = TypeVar("T")
R = TypeVar("R")
AHEAD = 2


def clip_bytes(row: dict[str, Any], turn: dict[str, Any], variant: dict[str, Any]) -> bytes:
    """The bytes as they were frozen. InvalidInput names the dialogue and the line where they are gone or other ones."""
    where = {
        "line": turn["position"],
        "title": row["title"] or row["dialogue_id"],
        "uid": row["dialogue_id"],
        "sha256": variant["sha256"],
    }
    try:
        data = blob_read(variant["sha256"])
    except FileNotFoundError as error:
        raise InvalidInput(
            _(
                "The sound of line %(line)d of %(title)s (dialogue %(uid)s, file %(sha256)s) is gone from the storage, so the split cannot be exported. Bring the file back and export again."
            )
            % where
        ) from error
    if hashlib.sha256(data).hexdigest() != variant["sha256"]:
        raise InvalidInput(
            _(
                "The sound of line %(line)d of %(title)s (dialogue %(uid)s, file %(sha256)s) is no longer what was frozen, so the split cannot be exported. Bring the file back and export again."
            )
            % where
        )
    return data


Loaded = tuple[dict[str, Any], dict[str, bytes]]
"""A row, and its clips by SHA-256."""


def clips_load(row: dict[str, Any]) -> Loaded:
    """Read every clip of a row. Reads files only, no database: it may run beside the thread that does."""
    return row, {
        variant["sha256"]: clip_bytes(row, turn, variant) for turn, variant in variants_of(row) if variant["sha256"]
    }


def ahead(function: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """``map`` with the next few results already being worked out in another thread, in order and in bounded memory."""
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix="export-read") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
