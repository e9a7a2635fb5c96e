"""The steps of the export figures, each in a process of its own so that its peak memory is its own.

python -m tests.benchmarks.export_steps make NUMBER      a corpus of short clips and its frozen split
python -m tests.benchmarks.export_steps export FOLDER    what the studio writes
python -m tests.benchmarks.export_steps alone FOLDER     what pyarrow writes from the same rows, which it is handed ready
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "eqstudio.settings")
django.setup()

import pyarrow as pa  # noqa: E402 -- Django first
import pyarrow.parquet as pq  # noqa: E402
from django.core.files.storage import default_storage  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation.domain.manifest import manifest_hash  # noqa: E402
from annotation.exporters.clips import clips_load  # noqa: E402
from annotation.exporters.huggingface import _filled, _groups, schema, writer_options  # noqa: E402
from annotation.exporters.rows import split_records, variants_of  # noqa: E402
from annotation.models import Split, SplitItem  # noqa: E402
from annotation.provenance import code_identity  # noqa: E402
from annotation.services import split_export  # noqa: E402
from eqstudio.blobs import blob_key, blob_put  # noqa: E402
from generation.models import Clip, Corpus, Dialogue, Turn, Variant  # noqa: E402

SECONDS, RATE = 1.5, 16_000
BATCH = 500
CLIPS = 8
SOUNDS = 8_000
PLACES = [(1, "only"), (2, "only"), (3, "only"), (4, "high"), (4, "low"), (5, "only"), (6, "high"), (6, "low")]


def make(number: int) -> None:
    """``number`` dialogues of eight clips each, frozen as split ``figures``. The first ``SOUNDS`` clips differ, then they return."""
    corpus = Corpus.objects.create(name="figures")
    clips = list(_clips(min(SOUNDS, number * CLIPS)))
    for start in range(0, number, BATCH):
        _batch(corpus, range(start, min(start + BATCH, number)), clips)
    _freeze(corpus)


def _clips(number: int) -> Iterator[Clip]:
    import numpy as np

    from tests.audio import speechlike, wav

    rng = np.random.default_rng(1)
    voices = [speechlike(seconds=SECONDS, rate=RATE, seed=seed) for seed in range(16)]
    measured = {"frames": int(SECONDS * RATE), "sample_rate": RATE, "channels": 1, "duration": SECONDS, "peak": -10.0}
    for place in range(number):
        data = wav(voices[place % len(voices)] + rng.normal(0, 0.004, voices[0].size), rate=RATE)
        yield Clip.objects.create(sha256=blob_put(data), media_type="audio/wav", size=len(data), **measured)


def _batch(corpus, numbers, clips) -> None:
    kind = {"benchmark": "speecheq", "category": "interpersonal_empathy", "language": "en", "state": "frozen"}
    dialogues = Dialogue.objects.bulk_create(
        Dialogue(
            corpus=corpus,
            title=f"Scene {n}",
            external_id=f"set-{n:06d}",
            scenario={"context": f"Two people meet for the {n}th time."},
            **kind,
        )
        for n in numbers
    )
    turns, variants = [], []
    for n, dialogue in zip(numbers, dialogues, strict=True):
        said = {
            position: Turn(dialogue=dialogue, position=position, role="context", speaker="speaker1")
            for position, _label in PLACES
        }
        turns += said.values()
        for place, (position, label) in enumerate(PLACES):
            clip = clips[(n * CLIPS + place) % len(clips)]
            text = f"Line {position} of {dialogue.title}."
            variants.append(Variant(turn=said[position], label=label, text=text, clip=clip))
    Turn.objects.bulk_create(turns, batch_size=1_000)
    Variant.objects.bulk_create(variants, batch_size=1_000)


def _freeze(corpus) -> None:
    """As ``split_freeze`` leaves it; that one has figures of its own."""
    rows = corpus.dialogues.order_by("pk").values_list("uid", "external_id", "pk")
    common = {"category": "interpersonal_empathy", "language": "en", "side": "test", "judgements": {}}
    clips = {f"{position}/{label}": "0" * 64 for position, label in PLACES}
    entries = {
        pk: {"uid": uid, "external_id": name, "content": name, "clips": clips, **common} for uid, name, pk in rows
    }
    head = {"format": 2, "benchmark": "speecheq", "benchmark_version": "1", "recipe": {}, "code": code_identity()}
    split = Split.objects.create(
        name="figures",
        benchmark="speecheq",
        corpus=corpus,
        manifest=head,
        manifest_hash=manifest_hash({**head, "items": list(entries.values())}),
        item_count=len(entries),
        frozen_at=timezone.now(),
    )
    SplitItem.objects.bulk_create(
        (
            SplitItem(split=split, dialogue_id=pk, position=place, identity=entry["content"], entry=entry)
            for place, (pk, entry) in enumerate(entries.items())
        ),
        batch_size=500,
    )


def export(folder: Path) -> None:
    split = Split.objects.defer("manifest").get(name="figures")
    started, before = time.perf_counter(), time.process_time()
    split_export(split=split, format="huggingface", output=folder)
    told(time.perf_counter() - started, time.process_time() - before, folder)


def alone(folder: Path) -> None:
    """What a script without a studio does, and only that is timed: read the files, make a table, write it. It is handed the rows
    without their audio.
    """
    split = Split.objects.defer("manifest").get(name="figures")
    folder.mkdir()
    columns = schema()
    wall = used = 0.0
    with pq.ParquetWriter(folder / "alone.parquet", **writer_options(columns)) as writer:
        for group in _groups(
            map(clips_load, split_records(split))
        ):  # the files are in the cache of the system, as later
            rows = [loaded[0] for loaded in group]
            started, before = time.perf_counter(), time.process_time()
            filled = [_filled((row, _read(row))) for row in rows]
            writer.write_table(pa.Table.from_pylist(filled, schema=columns))
            wall += time.perf_counter() - started
            used += time.process_time() - before
    told(wall, used, folder)


def _read(row) -> dict[str, bytes]:
    sums = [variant["sha256"] for _turn, variant in variants_of(row)]
    return {sha256: Path(default_storage.path(blob_key(sha256))).read_bytes() for sha256 in sums}


def told(wall: float, used: float, folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*.parquet"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps({"wall": wall, "used": used, "mb": size / 1e6, "peak_mb": peak}) + "\n")


if __name__ == "__main__":
    step, argument = sys.argv[1:]
    {
        "make": lambda: make(int(argument)),
        "export": lambda: export(Path(argument)),
        "alone": lambda: alone(Path(argument)),
    }[step]()
