"""What an importer yields: one answer to one question in one run, as the file has it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput

MAX_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class GivenAnswer:
    """An answer, and as much as the file tells of the question it belongs to.

    ``item`` is a public id; ``also`` holds ids that the item may have had where it came from. ``trial`` is the key of the
    question; where a file has none, ``question`` and ``options`` say which it is. ``options`` are the words of the options in
    the order they had there, ``right_slot`` the place of the right one (from 0): either tells what a letter means.
    ``slot`` or ``value`` is what the file itself read from the answer (``tells``: whether it says so), ``correct`` its verdict,
    if it has one. ``delivery`` names the rendition that was asked about; ``history`` "gold" says that earlier questions counted as answered right.
    ``problem`` says why an answer cannot be used; it is refused with that reason.
    """

    row: int
    item: str
    trial: str
    run: int
    raw: str = ""
    failure: str = ""
    error: str = ""
    right_slot: int | None = None
    slot: int | None = None
    value: str = ""
    tells: bool = True
    correct: bool | None = None
    problem: str = ""
    also: tuple[str, ...] = ()
    question: str = ""
    options: tuple[str, ...] = ()
    delivery: str = ""
    history: str = ""
    paradata: dict[str, Any] = field(default_factory=dict)


class AnswerImporter(ABC):
    """One file format."""

    alias: ClassVar[str]

    @abstractmethod
    def read(self, path: Path) -> Iterator[GivenAnswer]:
        """Every answer in the file; InvalidInput when it is not such a file at all."""


def text_of_file(path: Path, encoding: str = "utf-8-sig") -> str:
    """All of a text file; InvalidInput names what cannot be read or is not text in this encoding."""
    size_check(path)
    try:
        return path.read_text(encoding=encoding)
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeError as error:
        told = {"name": path.name, "encoding": encoding.removesuffix("-sig").upper()}
        raise InvalidInput(_("%(name)s: is not %(encoding)s text.") % told, field="path") from error


def size_check(path: Path) -> None:
    """InvalidInput for a file that is not there or larger than 512 MiB."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise unreadable(path, error) from error
    if size > MAX_BYTES:
        raise InvalidInput(_("%(name)s: is larger than 512 MiB.") % {"name": path.name}, field="path")


def unreadable(path: Path, error: OSError) -> InvalidInput:
    told = {"path": path, "why": error.strerror}
    return InvalidInput(_("%(path)s: cannot be read (%(why)s).") % told, field="path")


def json_of_file(path: Path) -> Any:
    """The document in a JSON file; InvalidInput names the line where it breaks."""
    try:
        return json.loads(text_of_file(path))
    except json.JSONDecodeError as error:
        told = {"name": path.name, "line": error.lineno, "why": error.msg}
        raise InvalidInput(_("%(name)s: is not JSON (line %(line)d: %(why)s).") % told, field="path") from error
    except RecursionError as error:
        raise InvalidInput(_("%(name)s: is nested too deeply.") % {"name": path.name}, field="path") from error
