"""The contract of importers: walk a path, yield dialogues that are complete and refusals that say why one is not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class VariantRow:
    """One rendition: what is said, how, and the file that holds it."""

    label: str
    text: str
    audio: Path
    tone: str = ""
    grade: int | None = None


@dataclass(frozen=True)
class TurnRow:
    position: int
    role: str
    speaker: str
    variants: tuple[VariantRow, ...]
    speaker_name: str = ""
    gender: str = ""
    voice: str = ""


@dataclass(frozen=True)
class DialogueRow:
    """A dialogue whose every field was checked; its audio files exist but were not opened yet."""

    path: str
    row: str
    external_id: str
    benchmark: str
    category: str
    language: str
    turns: tuple[TurnRow, ...]
    title: str = ""
    valence: str = ""
    scenario: dict[str, Any] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refusal:
    """What could not be taken in: the file, the row or field in it, and what was expected there."""

    path: str
    row: str
    reason: str


class Importer(ABC):
    """Reads one format. Memory stays constant: one dialogue at a time."""

    @abstractmethod
    def discover(self, path: Path) -> Iterator[DialogueRow | Refusal]:
        """Walk ``path`` in a stable order. InvalidInput when there is nothing of this format at all."""
