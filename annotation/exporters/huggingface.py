"""A folder that ``datasets.load_dataset`` opens: Parquet shards with the original audio bytes inside, and a dataset card."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.db.models import Sum

from annotation.exporters.base import Exporter, Progress, checksums_write
from annotation.exporters.card import card_write
from annotation.exporters.rows import Judged, dialogue_row, judged_of
from annotation.models import Split, SplitItem

SHARD_BYTES = 256 * 1024 * 1024
CHUNK = 8
"""Dialogues in memory at once, and in one row group."""

_TEXT = pa.string()
_AUDIO = pa.struct([("bytes", pa.binary()), ("path", _TEXT)])
_VARIANT = pa.struct(
    [
        ("variant_id", _TEXT),
        ("label", _TEXT),
        ("text", _TEXT),
        ("tone", _TEXT),
        ("intended_grade", pa.int32()),
        ("audio", _AUDIO),
        ("sha256", _TEXT),
        ("duration", pa.float64()),
        ("loudness", pa.float64()),
        ("pitch", pa.float64()),
        ("grades", pa.list_(pa.int32())),
        ("median_grade", pa.float64()),
    ]
)
_TURN = pa.struct(
    [
        ("position", pa.int32()),
        ("role", _TEXT),
        ("speaker", _TEXT),
        ("speaker_name", _TEXT),
        ("gender", _TEXT),
        ("variants", pa.list_(_VARIANT)),
    ]
)
_JUDGEMENT = pa.struct([("rater", _TEXT), ("verdict", _TEXT), ("reasons", pa.list_(_TEXT))])
COLUMNS = pa.schema(
    [
        *((name, _TEXT) for name in ("dialogue_id", "external_id", "benchmark", "category", "language", "source")),
        *((name, _TEXT) for name in ("valence", "title", "scenario", "extras", "template_key", "topic_key", "outcome")),
        ("turns", pa.list_(_TURN)),
        ("judgements", pa.list_(_JUDGEMENT)),
    ]
)


def feature(kind: pa.DataType) -> Any:
    """A column's type in the words of ``datasets``."""
    if kind == _AUDIO:
        return {"_type": "Audio"}
    if pa.types.is_struct(kind):
        return {field.name: feature(field.type) for field in kind}
    if pa.types.is_list(kind):
        return [feature(kind.value_type)]
    return {"dtype": "float64" if kind == pa.float64() else str(kind), "_type": "Value"}


def schema() -> pa.Schema:
    """The columns, with the metadata from which ``datasets`` knows which of them is audio."""
    features = {column.name: feature(column.type) for column in COLUMNS}
    return COLUMNS.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


class HuggingFaceExporter(Exporter):
    alias = "huggingface"

    def write(self, *, split: Split, folder: Path, progress: Progress) -> None:
        data = folder / "data"
        data.mkdir()
        judged = judged_of(split)
        done = 0
        for side, shards in _plan(split).items():
            for number, items in enumerate(shards):
                path = data / f"{side}-{number:05d}-of-{len(shards):05d}.parquet"
                with pq.ParquetWriter(path, schema(), compression="zstd") as writer:
                    for rows in _chunks(items, judged):
                        writer.write_table(pa.Table.from_pylist(rows, schema=schema()))
                        done += len(rows)
                        progress(done)
        manifest = json.dumps({**split.manifest, "hash": split.manifest_hash}, indent=1, ensure_ascii=False)
        (folder / "manifest.json").write_text(manifest, encoding="utf-8")
        card_write(split, folder)
        checksums_write(folder)


def _plan(split: Split) -> dict[str, list[list[int]]]:
    """Which items go into which shard, per side, so that no shard holds much more than ``SHARD_BYTES`` of audio."""
    sizes = split.items.annotate(size=Sum("dialogue__turns__variants__clip__size")).order_by("position")
    shards: dict[str, list[list[int]]] = {}
    filled: dict[str, int] = {}
    for item, side, size in sizes.values_list("pk", "side", "size"):
        if side not in shards or filled[side] + (size or 0) > SHARD_BYTES:
            shards.setdefault(side, []).append([])
            filled[side] = 0
        shards[side][-1].append(item)
        filled[side] += size or 0
    return shards


def _chunks(items: list[int], judged: Judged) -> Iterator[list[dict[str, Any]]]:
    rows = iter(items)
    while chunk := list(islice(rows, CHUNK)):
        found = SplitItem.objects.filter(pk__in=chunk).select_related("dialogue").order_by("position")
        yield [dialogue_row(item, judged) for item in found.prefetch_related("dialogue__turns__variants__clip")]
