"""A table of audio with transcripts: one row is one recording, its file named by a path beside the table.

``metadata.csv`` or any other CSV, TSV or JSONL; a folder may hold several. Recorded speech unless a row says otherwise. A
folder without a table is taken file by file, each with the words in the ``.txt`` of its name, or without words.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput
from generation.importers.base import DialogueRow, Importer, Refusal, RowRefused
from generation.importers.files import AUDIO_ENDINGS, file_inside
from generation.importers.flat import COLUMNS, flat_dialogue, value_of
from generation.importers.ours import FLAT, dialogues_of, is_ours, our_dialogue
from generation.importers.tables import Row, rows_read

MAX_WORDS_BYTES = 64 * 1024
CODEBOOK = "codebook.json"
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")


class AudioImporter(Importer):
    source = "recorded"

    def discover(self, path: Path) -> Iterator[DialogueRow | Refusal]:
        tables = tables_in(path)
        loose = [] if tables or not path.is_dir() else audio_in(path)
        if not tables and not loose:
            raise InvalidInput(
                _(
                    "%(path)s holds no table and no audio: expected a CSV, TSV or JSONL file with the columns audio and text, "
                    "or audio files."
                )
                % {"path": path},
                field="path",
            )
        root = path if path.is_dir() else path.parent
        for file in loose:
            yield self._loose(root, file)
        for table in tables:
            name = table.relative_to(root).as_posix()
            yield from self._table(root, table, name)

    def _table(self, root: Path, table: Path, name: str) -> Iterator[DialogueRow | Refusal]:
        """Row by row; a table that the studio wrote has several rows a dialogue and keeps the spaces in its cells."""
        rows = rows_read(table, name)
        first = next(rows, None)
        if first is None:
            return
        if isinstance(first, Row) and set(first.values) >= FLAT:
            yield from dialogues_of(rows_read(table, name, strip=False), name, table.parent)
            return
        for row in chain([first], rows):
            yield row if isinstance(row, Refusal) else self._dialogue(root, table, name, row)

    def _loose(self, root: Path, file: Path) -> DialogueRow | Refusal:
        name = file.relative_to(root).as_posix()
        try:
            return flat_dialogue(
                {"text": _words_beside(file), "title": file.stem},
                path=name,
                row="",
                key=name,
                audio=file_inside(root, name),
                defaults=self.defaults,
                source=self.source,
                wordless=True,
            )
        except RowRefused as refused:
            return Refusal(path=name, row="", reason=refused.reason)

    def _dialogue(self, root: Path, table: Path, name: str, row: Row) -> DialogueRow | Refusal:
        try:
            if is_ours(row.values):
                return our_dialogue(row.values, name, row.where, table.parent)
            audio = file_inside(table.parent, _named(row))
            return flat_dialogue(
                row.values,
                path=name,
                row=row.where,
                key=audio.relative_to(root).as_posix(),
                audio=audio,
                defaults=self.defaults,
                source=self.source,
            )
        except RowRefused as refused:
            return Refusal(path=name, row=row.where, reason=refused.reason)


def _named(row: Row) -> str:
    named = value_of(row.values, "audio", {})
    if not named:
        raise RowRefused(
            _("The audio file is missing. Expected a column called one of: %(columns)s.")
            % {"columns": ", ".join(COLUMNS["audio"])}
        )
    return named


def _words_beside(file: Path) -> str:
    words = file.with_suffix(".txt")
    if not words.is_file():
        return ""
    with words.open("rb") as handle:
        return handle.read(MAX_WORDS_BYTES).decode("utf-8-sig", errors="surrogateescape").strip()


def audio_in(path: Path) -> list[Path]:
    """The audio files of a folder by their endings, in a stable order."""
    return sorted(file for file in path.rglob("*") if file.suffix.lower() in AUDIO_ENDINGS and file.is_file())


def tables_in(path: Path) -> list[Path]:
    """The tables of a folder in a stable order, or the one that ``path`` is. Judgements beside their codebook are none."""
    if path.is_file():
        return [path] if path.suffix.lower() in TABLES else []
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in TABLES and file.is_file())
    return [file for file in found if not (file.parent / CODEBOOK).exists()]
