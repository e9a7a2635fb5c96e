"""What an importer yields: one answer to one question in one run, as the file has it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from eqstudio.errors import InvalidInput


@dataclass(frozen=True)
class GivenAnswer:
    """``right_slot`` and ``slot`` count options from 0 as shown there; ``correct`` is the file's own verdict, if it has one.

    ``problem`` says why an answer cannot be used; it is refused with that reason.
    """

    row: int
    item: str
    trial: str
    run: int
    raw: str = ""
    failure: str = ""
    right_slot: int | None = None
    slot: int | None = None
    correct: bool | None = None
    problem: str = ""
    paradata: dict[str, Any] = field(default_factory=dict)


class AnswerImporter(ABC):
    """One file format."""

    alias: ClassVar[str]

    @abstractmethod
    def read(self, path: Path) -> Iterator[GivenAnswer]:
        """Every answer in the file; InvalidInput when it is not such a file at all."""


def text_of_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}).", field="path") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name}: is not UTF-8 text.", field="path") from error
