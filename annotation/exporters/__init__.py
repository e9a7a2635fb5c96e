"""The formats a split leaves in. A new one is one new file and one line here."""

from annotation.exporters.base import Exporter, Options
from eqstudio.registry import Registry

exporters: Registry[Exporter] = Registry(
    "export format",
    {
        "huggingface": "annotation.exporters.huggingface:HuggingFaceExporter",
    },
)

__all__ = ["Exporter", "Options", "exporters"]
