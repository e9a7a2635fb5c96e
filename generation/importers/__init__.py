"""Formats that dialogues come in from elsewhere. A new one is one new file and one line here."""

from __future__ import annotations

from eqstudio.registry import Registry
from generation.importers.base import Audio, DialogueRow, Embedded, Importer, Refusal, TurnRow, VariantRow

importers: Registry[Importer] = Registry(
    "import format",
    {
        "audio": "generation.importers.audio:AudioImporter",
        "echomind": "generation.importers.echomind:EchoMindImporter",
        "emodialogue": "generation.importers.emodialogue:EmoDialogueImporter",
        "huggingface": "generation.importers.huggingface:HuggingFaceImporter",
        "speecheq": "generation.importers.speecheq:SpeechEQImporter",
    },
)

__all__ = ["Audio", "DialogueRow", "Embedded", "Importer", "Refusal", "TurnRow", "VariantRow", "importers"]
