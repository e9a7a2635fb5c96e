"""Manifest entries put aside in a temporary file, so that a freeze needs as little memory for many items as for few."""

from __future__ import annotations

import json
import tempfile
import zlib
from array import array
from types import TracebackType
from typing import Any, Self

from annotation.domain.manifest import canonical


class Shelf:
    """Entries by the number of their place. Use it in a ``with`` block; the file is gone afterwards."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="eqstudio-freeze-")  # noqa: SIM115 -- closed by __exit__
        self._ends = array("q", [0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def put(self, entry: dict[str, Any]) -> None:
        """Add an entry at the next place. OSError when the disk is full."""
        packed = zlib.compress(canonical(entry), 1)
        self._file.write(packed)
        self._ends.append(self._ends[-1] + len(packed))

    def get(self, place: int) -> dict[str, Any]:
        begin, end = self._ends[place], self._ends[place + 1]
        self._file.seek(begin)
        found: dict[str, Any] = json.loads(zlib.decompress(self._file.read(end - begin)))
        return found
