"""Formats that dialogues come in from elsewhere. A new one is one new file and one line here."""

from __future__ import annotations

from eqstudio.registry import Registry
from generation.importers.base import DialogueRow, Importer, Refusal, TurnRow, VariantRow

importers: Registry[Importer] = Registry(
    "import format", {"speecheq": "generation.importers.speecheq:SpeechEQImporter"}
)

__all__ = ["DialogueRow", "Importer", "Refusal", "TurnRow", "VariantRow", "importers"]
