"""The formats a split leaves in."""

from annotation.exporters.base import Exporter
from eqstudio.registry import Registry

exporters: Registry[Exporter] = Registry(
    "export format",
    {
        "huggingface": "annotation.exporters.huggingface:HuggingFaceExporter",
    },
)

__all__ = ["Exporter", "exporters"]
