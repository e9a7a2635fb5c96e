"""Folders of Parquet as the hub has them: the studio's own export, and flat sets of audio with text and a label.

Read in small batches through a buffer, so that memory does not grow with the size of a file. A folder without Parquet but
with a metadata table beside its audio is read as such a table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput
from generation.importers.audio import AudioImporter, tables_in
from generation.importers.base import Audio, DialogueRow, Embedded, Importer, Refusal, RowRefused
from generation.importers.files import file_inside
from generation.importers.flat import COLUMNS, flat_dialogue
from generation.importers.ours import is_ours, our_dialogue
from generation.importers.tables import unstorable

BATCH_ROWS = 4
BUFFER_BYTES = 1024 * 1024


class HuggingFaceImporter(Importer):
    def discover(self, path: Path) -> Iterator[DialogueRow | Refusal]:
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path] if path.suffix == ".parquet" else []
        if files:
            root = path if path.is_dir() else path.parent
            for file in files:
                yield from self._file(file, root)
        elif path.is_dir() and tables_in(path):
            yield from _Tables(self.defaults).discover(path)
        else:
            raise InvalidInput(
                _(
                    "%(path)s holds no Parquet file and no metadata table; expected a folder as the Hugging Face hub has it."
                )
                % {"path": path},
                field="path",
            )

    def _file(self, file: Path, root: Path) -> Iterator[DialogueRow | Refusal]:
        name = file.relative_to(root).as_posix()
        try:
            with pq.ParquetFile(file, buffer_size=BUFFER_BYTES, pre_buffer=False) as source:
                yield from self._rows(source, name, root)
        except (pa.ArrowException, OSError) as error:
            said = str(error).splitlines()[0][:200]
            yield Refusal(path=name, row="", reason=_("This Parquet file cannot be read: %(why)s.") % {"why": said})

    def _rows(self, source: pq.ParquetFile, name: str, root: Path) -> Iterator[DialogueRow | Refusal]:
        schema = source.schema_arrow
        ours = is_ours(schema.names)
        labels = class_names(schema)
        audio = "" if ours else audio_column(schema)
        if not ours and not audio:
            reason = _("It has no column of audio. Its columns are: %(columns)s.") % {
                "columns": ", ".join(schema.names)
            }
            yield Refusal(path=name, row="", reason=reason)
            return
        number = 0
        for batch in source.iter_batches(batch_size=BATCH_ROWS):
            for values in _values(batch):
                number += 1
                where = _("row %(number)d") % {"number": number}
                try:
                    if isinstance(values, RowRefused):
                        raise values
                    if ours:
                        yield our_dialogue(values, name, where, root)
                    else:
                        yield self._flat(values, audio, labels, name=name, where=where, number=number, root=root)
                except RowRefused as refused:
                    yield Refusal(path=name, row=where, reason=refused.reason)

    def _flat(
        self,
        values: dict[str, Any],
        audio: str,
        labels: Mapping[str, list[str]],
        *,
        name: str,
        where: str,
        number: int,
        root: Path,
    ) -> DialogueRow:
        said = {column.lower(): value for column, value in values.items() if column != audio}
        for column, names in labels.items():
            index = said.get(column.lower())
            if isinstance(index, int) and 0 <= index < len(names):
                said[column.lower()] = names[index]
        spoilt = unstorable(said)
        if spoilt:
            raise RowRefused(spoilt)
        return flat_dialogue(
            said,
            path=name,
            row=where,
            key=f"{name}#{number}",
            audio=_audio(values[audio], root, f"{name}#{number}"),
            defaults=self.defaults,
            source="imported",
        )


def _values(batch: pa.RecordBatch) -> Iterator[dict[str, Any] | RowRefused]:
    """The rows of a batch, one that cannot be read as what is wrong with it."""
    try:
        yield from batch.to_pylist()
    except _ODD:
        for number in range(batch.num_rows):
            yield _row_values(batch, number)


_ODD = (ValueError, OverflowError, pa.ArrowException)
"""What a cell raises whose bytes are not of its column's type."""


def _row_values(batch: pa.RecordBatch, number: int) -> dict[str, Any] | RowRefused:
    found = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            found[name] = column[number].as_py()
        except UnicodeDecodeError:
            what = _("bytes that are no text in UTF-8; save the file as UTF-8")
            return RowRefused(_("Column %(column)s holds %(what)s.") % {"column": name, "what": what})
        except _ODD as error:
            return RowRefused(_("The row cannot be read: %(why)s.") % {"why": f"{name}: {error}"[:200]})
    return found


class _Tables(AudioImporter):
    source = "imported"


def audio_column(schema: pa.Schema) -> str:
    """The first column that holds sounds: a struct of bytes and path, or bytes or a path under a usual name."""
    for field in schema:
        if pa.types.is_struct(field.type) and {part.name for part in field.type} >= {"bytes", "path"}:
            return str(field.name)
    usual = {name.lower(): name for name in schema.names}
    return next((usual[name] for name in COLUMNS["audio"] if name in usual), "")


def class_names(schema: pa.Schema) -> dict[str, list[str]]:
    """Columns that hold numbers for names, with the names, as ``datasets`` wrote them into the metadata."""
    try:
        written = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = written["info"]["features"]
        return {
            column: list(feature["names"])
            for column, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _audio(value: Any, root: Path, name: str) -> Audio:
    if isinstance(value, bytes):
        return Embedded(name, value)
    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes):
        return Embedded(PurePosixPath(str(value.get("path") or name)).name, value["bytes"])
    named = value.get("path") if isinstance(value, dict) else value
    if not isinstance(named, str) or not named:
        raise RowRefused(_("The row has no audio."))
    return file_inside(root, named)
