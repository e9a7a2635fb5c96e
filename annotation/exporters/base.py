"""The contract of an export format."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

from annotation.models import Split

Progress = Callable[[int], None]
"""Called with the number of items written so far."""


class Exporter(ABC):
    """Writes one split into an empty folder. Memory stays constant however many items there are."""

    alias: ClassVar[str]

    @abstractmethod
    def write(self, *, split: Split, folder: Path, progress: Progress) -> None:
        """Write everything, telling ``progress`` as it goes; whoever called throws the folder away if this fails."""


def sha256_of(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def files_in(folder: Path) -> Iterator[Path]:
    """Every file of a folder, sorted by path."""
    return iter(sorted(path for path in folder.rglob("*") if path.is_file()))


def checksums_write(folder: Path, name: str = "SHA256SUMS") -> None:
    """A file that ``sha256sum --check`` reads."""
    lines = [f"{sha256_of(path)}  {path.relative_to(folder).as_posix()}\n" for path in files_in(folder)]
    (folder / name).write_text("".join(lines), encoding="utf-8")
