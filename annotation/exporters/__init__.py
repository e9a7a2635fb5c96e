"""The formats a split leaves in. A new one is one new file and one line here."""

from annotation.exporters.base import Exporter, Options
from eqstudio.registry import Registry

exporters: Registry[Exporter] = Registry(
    "export format",
    {
        "croissant": "annotation.exporters.croissant:CroissantExporter",
        "csv": "annotation.exporters.table:CsvExporter",
        "emodialogue": "annotation.exporters.emodialogue:EmoDialogueExporter",
        "huggingface": "annotation.exporters.huggingface:HuggingFaceExporter",
        "inspect": "annotation.exporters.inspect:InspectExporter",
        "jsonl": "annotation.exporters.jsonl:JsonLinesExporter",
        "lmeval": "annotation.exporters.lmeval:LmEvalExporter",
        "speecheq": "annotation.exporters.speecheq:SpeechEQExporter",
    },
)

__all__ = ["Exporter", "Options", "exporters"]
