"""What every export carries beside its data: the manifest, a script that checks it, judgements, a card and a chart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from annotation.exporters.base import Exporter, shipped
from annotation.exporters.card import card_text, chart_svg
from annotation.exporters.judgements import judgements_write
from annotation.exporters.sink import Sink
from annotation.models import Split
from annotation.selectors.splits import manifest_entries, manifest_head


def papers_write(split: Split, exporter: Exporter, sink: Sink) -> None:
    """Add them all; those that are there already are kept."""
    if not sink.has("manifest.json"):
        with sink.file("manifest.json") as handle:
            for line in manifest_lines(split, export=sink.identity):
                handle.write(line.encode())
    sink.put("verify.py", shipped("verify.py"))
    judgements_write(split, sink)
    sink.put("chart.svg", chart_svg(split).encode())
    sink.put("README.md", card_text(split, exporter).encode())


def manifest_lines(split: Split, *, export: Mapping[str, Any] | None = None) -> Iterator[str]:
    """The manifest as JSON, an item a line; ``export`` says as what it leaves."""
    head = manifest_head(split=split) | ({} if export is None else {"export": dict(export)})
    yield "{\n"
    for name, value in sorted(head.items()):  # PostgreSQL keeps the keys in an order of its own
        yield f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False, sort_keys=True)},\n"
    yield '"items": [\n'
    for number, entry in enumerate(manifest_entries(split=split)):
        yield f"{',' if number else ''}{json.dumps(entry, ensure_ascii=False, sort_keys=True)}\n"
    yield "]\n}\n"
