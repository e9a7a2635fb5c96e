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
from generation.importers.base import Audio, DialogueRow, Embedded, Importer, Refusal, RowRefused, TurnRow, VariantRow
from generation.importers.files import file_inside
from generation.importers.flat import COLUMNS, category_known, flat_dialogue, language_known
from generation.importers.tables import unstorable

BATCH_ROWS = 4
BUFFER_BYTES = 1024 * 1024
_OURS = frozenset({"dialogue_id", "benchmark", "category", "language", "turns"})
_ROLES = ("context", "critical", "response")
_SOURCES = ("synthetic", "recorded", "imported")


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
        ours = set(schema.names) >= _OURS
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
            for values in batch.to_pylist():
                number += 1
                where = _("row %(number)d") % {"number": number}
                try:
                    if ours:
                        yield _our_dialogue(values, name, where)
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


def _our_dialogue(values: dict[str, Any], name: str, where: str) -> DialogueRow:
    """A row of our own export, with everything that makes the dialogue; what people said about it stays behind."""
    text = {key: str(value or "") for key, value in values.items() if not isinstance(value, list)}
    benchmark, category = category_known(text["benchmark"], text["category"])
    if not values["turns"]:
        raise RowRefused(_("The dialogue has no turns."))
    turns = tuple(_our_turn(turn) for turn in values["turns"])
    return DialogueRow(
        path=name,
        row=where,
        external_id=text.get("external_id") or text["dialogue_id"],
        benchmark=benchmark,
        category=category,
        language=language_known(text["language"], turns[0].variants[0].text),
        turns=turns,
        title=text.get("title", ""),
        valence=text.get("valence", ""),
        source=text.get("source", "") if text.get("source") in _SOURCES else "imported",
        scenario=_json_object(text, "scenario"),
        extras=_json_object(text, "extras"),
        template_key=text.get("template_key", ""),
        topic_key=text.get("topic_key", ""),
    )


def _json_object(text: Mapping[str, str], column: str) -> dict[str, Any]:
    try:
        value = json.loads(text.get(column) or "{}")
    except (json.JSONDecodeError, RecursionError) as error:
        raise RowRefused(_("The column %(column)s is not JSON.") % {"column": column}) from error
    if not isinstance(value, dict):
        raise RowRefused(_("The column %(column)s is not a JSON object.") % {"column": column})
    return value


def _our_turn(turn: Mapping[str, Any]) -> TurnRow:
    position, role = turn.get("position"), turn.get("role")
    if not isinstance(position, int) or position < 1 or role not in _ROLES or not turn.get("variants"):
        raise RowRefused(_("A turn lacks its position, its role or its variants."))
    variants = []
    for variant in turn["variants"]:
        audio = variant.get("audio") or {}
        label = variant.get("label") or ""
        if not isinstance(audio.get("bytes"), bytes):
            raise RowRefused(
                _("Line %(position)d, %(label)s, has no audio.") % {"position": position, "label": label or "?"}
            )
        if not label or not variant.get("text"):
            raise RowRefused(_("Line %(position)d has a variant without label or text.") % {"position": position})
        variants.append(
            VariantRow(
                label=label,
                text=variant["text"],
                audio=Embedded(PurePosixPath(str(audio.get("path") or label)).name, audio["bytes"]),
                tone=variant.get("tone") or "",
                grade=variant.get("intended_grade"),
            )
        )
    return TurnRow(
        position=position,
        role=role,
        speaker=turn.get("speaker") or "",
        speaker_name=turn.get("speaker_name") or "",
        gender=turn.get("gender") or "",
        variants=tuple(variants),
    )
