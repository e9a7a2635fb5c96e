"""The contract of importers: walk a path, yield dialogues that are complete and refusals that say why one is not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, eq=False)
class Embedded:
    """Audio that lies inside another file, as in Parquet."""

    name: str
    data: bytes


Audio = Path | Embedded


@dataclass(frozen=True)
class VariantRow:
    """One rendition: what is said, how, and the audio that holds it."""

    label: str
    text: str
    audio: Audio
    tone: str = ""
    grade: int | None = None
    rationale: str = ""
    delivery: dict[str, Any] = field(default_factory=dict)


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
    source: str = "imported"
    scenario: dict[str, Any] = field(default_factory=dict)
    extras: dict[str, Any] = field(default_factory=dict)
    template_key: str = ""
    topic_key: str = ""


@dataclass(frozen=True)
class Refusal:
    """What could not be taken in: the file, the row or field in it, and what was expected there."""

    path: str
    row: str
    reason: str


class RowRefused(Exception):  # noqa: N818 -- carries a refusal to where it is yielded
    """A row is not taken in; the others are."""

    def __init__(self, reason: str, *, row: str = "") -> None:
        super().__init__(reason)
        self.reason, self.row = reason, row


class Importer(ABC):
    """Reads one format. Memory stays constant: one dialogue at a time.

    ``defaults`` hold for every row that does not say it itself: benchmark, category, language, licence, consent, speaker.
    """

    def __init__(self, defaults: Mapping[str, str] | None = None) -> None:
        self.defaults = {name: value for name, value in (defaults or {}).items() if value}

    @abstractmethod
    def discover(self, path: Path) -> Iterator[DialogueRow | Refusal]:
        """Walk ``path`` in a stable order. InvalidInput when there is nothing of this format at all."""
