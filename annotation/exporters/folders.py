"""What formats share whose audio lies beside a table, file by file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from annotation.exporters.base import Work
from annotation.exporters.clips import ahead, clips_load
from annotation.exporters.rows import Place, split_records, variants_of

AUDIO = "audio"
_TELL_EVERY = 20


def audio_name(variant: dict[str, Any], folder: str = AUDIO) -> str:
    """Where a variant's sound lies, seen from the table; '' for a line without sound."""
    return f"{folder}/{variant['file']}" if variant["file"] else ""


def records_with_audio(work: Work, places: list[Place], *, done: int = 0) -> Iterator[dict[str, Any]]:
    """Rows in order, each after its sounds were written into ``audio/``; those that are there are not read again."""

    def load(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        there = all(not v["file"] or work.sink.has(audio_name(v)) for _turn, v in variants_of(row))
        return (row, {}) if there else clips_load(row)

    for number, (row, clips) in enumerate(ahead(load, split_records(work.split, places)), start=1):
        for _turn, variant in variants_of(row):
            if variant["sha256"] in clips:
                work.sink.put(audio_name(variant), clips[variant["sha256"]], sha256=variant["sha256"])
        yield row
        if number % _TELL_EVERY == 0 or number == len(places):
            work.progress(done + number)


def lines_write(work: Work, name: str, rows: Iterable[dict[str, Any]], line: Callable[[dict[str, Any]], str]) -> None:
    """One file of one line a row. It is written again on resuming: the audio is what takes long."""
    with work.sink.file(name) as handle:
        for row in rows:
            handle.write(line(row).encode())
