"""What every export carries beside its data: the manifest, a script that checks it, judgements, a card and a chart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from annotation.domain.manifest import HASHED, ITEM_HASHED
from annotation.exporters.base import Exporter, shipped
from annotation.exporters.card import card_text, chart_svg
from annotation.exporters.judgements import judgements_write
from annotation.exporters.sink import Sink
from annotation.models import Split


def papers_write(split: Split, exporter: Exporter, sink: Sink) -> None:
    """Add them all; those that are there already are kept."""
    if not sink.has("manifest.json"):
        with sink.file("manifest.json") as handle:
            for line in manifest_lines(split):
                handle.write(line.encode())
    sink.put("verify.py", shipped("verify.py"))
    judgements_write(split, sink)
    sink.put("chart.svg", chart_svg(split).encode())
    sink.put("README.md", card_text(split, exporter).encode())


def manifest_lines(split: Split) -> Iterator[str]:
    """The manifest as JSON, an item a line, with its hash and the names of the fields that the hash covers."""
    manifest: dict[str, Any] = split.manifest
    head = {
        "hash": split.manifest_hash,
        "hashed": {"manifest": HASHED, "item": ITEM_HASHED},
        **{name: value for name, value in manifest.items() if name != "items"},
    }
    yield "{\n"
    for name, value in head.items():
        yield f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)},\n"
    yield '"items": [\n'
    for number, item in enumerate(manifest["items"]):
        yield f"{',' if number else ''}{json.dumps(item, ensure_ascii=False)}\n"
    yield "]\n}\n"
