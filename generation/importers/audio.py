"""A table of audio with transcripts: one row is one recording, its file named by a path beside the table.

``metadata.csv`` or any other CSV, TSV or JSONL; a folder may hold several. Recorded speech unless a row says otherwise. A
folder without a table is taken file by file, each with the words in the ``.txt`` of its name, or without words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from eqstudio.errors import InvalidInput
from generation.importers.base import DialogueRow, Importer, Refusal, RowRefused
from generation.importers.files import AUDIO_ENDINGS, file_inside
from generation.importers.flat import COLUMNS, empty_cell, flat_dialogue, value_of
from generation.importers.ours import FLAT, WRITTEN, dialogues_of, is_ours, our_dialogue
from generation.importers.tables import Row, rows_read

NAMES_TOLD = 200
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
        named: set[str] = set()
        for table in tables:
            name = table.relative_to(root).as_posix()
            yield from self._table(root, table, name, named)
        if tables and path.is_dir():
            yield from _unnamed(root, named)

    def _table(self, root: Path, table: Path, name: str, named: set[str]) -> Iterator[DialogueRow | Refusal]:
        """Row by row, and which files they name; a table with a row per rendition gives whole dialogues, and one that the
        studio wrote keeps the spaces in its cells.
        """
        first = next(rows_read(table, name), None)
        columns = set(first.values) if isinstance(first, Row) else set()
        rows = _noted(rows_read(table, name, strip=not columns >= WRITTEN), table.parent, named)
        if columns >= FLAT:
            yield from dialogues_of(rows, name, table.parent, self.defaults)
            return
        for row in rows:
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
            empty_cell(row.values, "audio")
            or _("The audio file is missing. Expected a column called one of: %(columns)s.")
            % {"columns": ", ".join(COLUMNS["audio"])}
        )
    return named


def _noted(rows: Iterator[Row | Refusal], root: Path, named: set[str]) -> Iterator[Row | Refusal]:
    """``rows`` as they are; the files that they name, also in their turns, are added to ``named``."""
    for row in rows:
        if isinstance(row, Row):
            named.update(os.path.normpath(root / name.replace("\\", "/")) for name in _names_in(row.values))
        yield row


def _names_in(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _names_in(each)
    elif isinstance(value, dict):
        yield from (said.strip() for name in COLUMNS["audio"] if isinstance(said := value.get(name), str))
        yield from _names_in([each for each in value.values() if isinstance(each, list | dict)])


def _unnamed(root: Path, named: set[str]) -> Iterator[Refusal]:
    """One refusal for all the audio that no row of any table names."""
    left = [file.relative_to(root).as_posix() for file in audio_in(root) if os.path.normpath(file) not in named]
    if not left:
        return
    names = ", ".join(left[:NAMES_TOLD])
    if len(left) > NAMES_TOLD:
        names = _("%(names)s and %(count)d more") % {"names": names, "count": len(left) - NAMES_TOLD}
    reason = ngettext(
        "%(count)d file is named by no row of a table and was left out: %(names)s.",
        "%(count)d files are named by no row of a table and were left out: %(names)s.",
        len(left),
    )
    yield Refusal(path="", row="", reason=reason % {"count": len(left), "names": names})


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
