"""A folder that ``datasets.load_dataset`` opens: Parquet shards with the original audio bytes inside, and a dataset card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from annotation.exporters.base import Exporter, Work
from annotation.exporters.clips import Loaded, ahead, clips_load
from annotation.exporters.columns import table_of
from annotation.exporters.rows import Place, split_places, split_records

SHARD_BYTES = 256 * 1024 * 1024
GROUP_ITEMS = 64
GROUP_BYTES = 1024 * 1024
"""A row group holds no more than this, and so does memory, a few times over."""
BUFFER_BYTES = 4 * GROUP_BYTES
"""Each write into the sink waits for the interpreter, which the thread that reads the rows holds: few large ones wait little."""

_TEXT = pa.string()
_AUDIO = pa.struct([("bytes", pa.binary()), ("path", _TEXT)])
_VARIANT = pa.struct(
    [
        ("variant_id", _TEXT),
        ("label", _TEXT),
        ("text", _TEXT),
        ("tone", _TEXT),
        ("delivery", _TEXT),
        ("intended_grade", pa.int32()),
        ("rationale", _TEXT),
        ("audio", _AUDIO),
        ("sha256", _TEXT),
        ("duration", pa.float64()),
        ("loudness", pa.float64()),
        ("pitch", pa.float64()),
        ("grades", pa.list_(pa.int32())),
        ("graded_by", pa.list_(_TEXT)),
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
        ("voice", _TEXT),
        ("variants", pa.list_(_VARIANT)),
    ]
)
_JUDGEMENT = pa.struct([("rater", _TEXT), ("verdict", _TEXT), ("reasons", pa.list_(_TEXT)), ("answers", _TEXT)])
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


def writer_options(columns: pa.Schema) -> dict[str, Any]:
    """How pyarrow writes: sounds as they are (no dictionary or statistics of them), text packed."""
    return {"schema": columns, "compression": "zstd", "use_dictionary": False, "write_statistics": False}


class HuggingFaceExporter(Exporter):
    alias = "huggingface"
    opening = """\
```python
from datasets import load_dataset

dataset = load_dataset("path/to/this/folder", split="test")
```

One row is one dialogue; `turns` holds its lines, each with its variants and their original audio."""

    def data_files(self, sides: list[str]) -> dict[str, str]:
        return {side: f"data/{side}-*.parquet" for side in sides}

    def write(self, work: Work) -> None:
        done = 0
        for side, places in split_places(work.split).items():
            shards = list(_shards(places))
            for number, shard in enumerate(shards):
                name = f"data/{side}-{number:05d}-of-{len(shards):05d}.parquet"
                there = work.sink.has(name)
                if not there:
                    self._shard(work, name, shard, done)
                done += len(shard)
                if not there:
                    work.progress(done)

    def _shard(self, work: Work, name: str, places: list[Place], done: int) -> None:
        columns = schema()
        with (
            work.sink.file(name) as handle,
            pa.BufferedOutputStream(pa.PythonFile(handle, mode="w"), BUFFER_BYTES) as stream,
            pq.ParquetWriter(stream, **writer_options(columns)) as writer,
            ThreadPoolExecutor(1, thread_name_prefix="export-write") as pool,
        ):
            writing: Future[None] | None = None
            for group in _groups(ahead(clips_load, split_records(work.split, places))):
                table = table_of([_filled(loaded) for loaded in group], columns)
                if writing is not None:
                    writing.result()
                    work.progress(done)
                writing = pool.submit(writer.write_table, table)
                done += len(group)
            if writing is not None:
                writing.result()


def _shards(places: list[Place]) -> Iterator[list[Place]]:
    """Which items go into which file, so that none holds much more than ``SHARD_BYTES`` of audio."""
    shard: list[Place] = []
    filled = 0
    for place in places:
        if shard and filled + place.size > SHARD_BYTES:
            yield shard
            shard, filled = [], 0
        shard.append(place)
        filled += place.size
    if shard:
        yield shard


def _groups(rows: Iterable[Loaded]) -> Iterator[list[Loaded]]:
    group: list[Loaded] = []
    filled = 0
    for loaded in rows:
        size = sum(map(len, loaded[1].values()))
        if group and (filled + size > GROUP_BYTES or len(group) >= GROUP_ITEMS):
            yield group
            group, filled = [], 0
        group.append(loaded)
        filled += size
    if group:
        yield group


def _filled(loaded: Loaded) -> dict[str, Any]:
    row, clips = loaded
    for turn in row["turns"]:
        for variant in turn["variants"]:
            sha256 = variant["sha256"]
            variant["audio"] = {"bytes": clips[sha256], "path": variant["file"]} if sha256 else None
    return row
