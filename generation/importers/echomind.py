"""EchoMind folders: ``data_synthesis`` or ``data_human`` with ``script_info_<type>.json``, ``MCQ/*.json`` and
``audio/<attribute>/<file>``.

A script becomes one dialogue of one line with its deliveries. The paths inside belong to another machine: a file is found by
its name and the folders that agree. Questions are joined to the delivery they were asked of, each with its answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from eqstudio.errors import InvalidInput
from generation.importers.base import DialogueRow, Importer, Refusal, RowRefused, TurnRow, VariantRow
from generation.importers.echomind_fields import (
    attribute_known,
    delivery_text,
    field_of,
    question_read,
    records_of,
    text_field,
)
from generation.importers.files import FileIndex
from generation.importers.flat import language_known
from generation.importers.tables import unstorable

DELIVERIES = ("target", "neutral", "alternative")
MAX_BYTES = 256 * 1024 * 1024
KINDS = ("understanding", "reasoning")

Questions = dict[str, list[dict[str, Any]]]
"""By the name of the audio file they were asked of."""


class EchoMindImporter(Importer):
    def discover(self, path: Path) -> Iterator[DialogueRow | Refusal]:
        scripts = sorted(path.rglob("script_info*.json")) if path.is_dir() else []
        if not scripts:
            raise InvalidInput(
                _("%(path)s holds no EchoMind data: expected script_info_<type>.json beside audio/ and MCQ/.")
                % {"path": path},
                field="path",
            )
        for file in scripts:
            yield from self._scripts(file, path)

    def _scripts(self, file: Path, root: Path) -> Iterator[DialogueRow | Refusal]:
        name = file.relative_to(root).as_posix()
        try:
            records = records_of(_json(file))
        except RowRefused as refused:
            yield Refusal(path=name, row="", reason=refused.reason)
            return
        audio = FileIndex(file.parent)
        questions: Questions = {}
        for mcq in sorted((file.parent / "MCQ").rglob("*.json"), key=lambda found: (KINDS[0] not in found.stem, found)):
            yield from _questions(mcq, mcq.relative_to(root).as_posix(), questions)
        for number, record in enumerate(records, start=1):
            where = _("record %(number)d") % {"number": number}
            try:
                yield self._dialogue(record, name, audio, questions)
            except RowRefused as refused:
                yield Refusal(path=name, row=refused.row or where, reason=refused.reason)

    def _dialogue(self, record: Any, name: str, audio: FileIndex, questions: Questions) -> DialogueRow:
        if not isinstance(record, dict):
            raise RowRefused(_("Expected an object, got %(value).80r.") % {"value": record})
        spoilt = unstorable(record)
        if spoilt:
            raise RowRefused(spoilt)
        case = text_field(record, "case_id", "id")
        if not case:
            raise RowRefused(_("case_id is missing."))
        text = delivery_text(field_of(record, "spoken_info", "spoken_text", "text"))
        if not text:
            raise RowRefused(_("spoken_info holds no text."), row=case)
        variants = tuple(_variants(record, text, audio, case))
        if not variants or variants[0].label != "target":
            raise RowRefused(_("The target delivery is missing."), row=case)
        files = {variant.label: _name(variant) for variant in variants}
        attribute = attribute_known(record, variants[0].audio, case)
        replies = {
            label: reply
            for label in files
            if (
                reply := text_field(
                    _info(record, label), f"{label}_response_text", "response_text", "reference_response"
                )
            )
        }
        topic = text_field(record, "topic")
        extras: dict[str, Any] = {"questions": _joined(files, questions)}
        if replies:
            extras["replies"] = replies
        turn = TurnRow(position=1, role="critical", speaker="speaker", variants=variants)
        return DialogueRow(
            path=name,
            row=case,
            external_id=f"{name.rsplit('/', 1)[0]}:{case}" if "/" in name else case,
            benchmark="echomind",
            category=attribute,
            language=language_known(self.defaults.get("language", ""), text),
            turns=(turn,),
            title=text[:80],
            valence="neutral",
            source="recorded" if "human" in name.lower() else "imported",
            scenario={"title": text[:80], **({"topic": topic} if topic else {})},
            extras=extras,
        )


def _json(file: Path) -> Any:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise RowRefused(_("The file is larger than 256 MiB."))
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise RowRefused(
            _("This is not JSON: %(what)s at line %(line)d, column %(column)d.")
            % {"what": error.msg, "line": error.lineno, "column": error.colno}
        ) from error
    except UnicodeDecodeError as error:
        raise RowRefused(_("The file is not UTF-8 text (byte %(byte)d).") % {"byte": error.start}) from error
    except (OSError, RecursionError) as error:
        raise RowRefused(_("The file cannot be read: %(why)s.") % {"why": error}) from error


def _info(record: Mapping[str, Any], label: str) -> Mapping[str, Any]:
    info = field_of(record, f"{label}_audio_info")
    return info if isinstance(info, dict) else record


def _variants(record: Mapping[str, Any], text: str, audio: FileIndex, case: str) -> Iterator[VariantRow]:
    for label in DELIVERIES:
        named = text_field(_info(record, label), f"{label}_input_audio_file", f"{label}_audio_file")
        if named:
            try:
                file = audio.find(named, what=label)
            except RowRefused as refused:
                raise RowRefused(refused.reason, row=case) from refused
            yield VariantRow(label=label, text=text, audio=file)


def _name(variant: VariantRow) -> str:
    return variant.audio.name


def _questions(file: Path, name: str, found: Questions) -> Iterator[Refusal]:
    """Read one file of questions into ``found``; a question that cannot be read is told and the rest is kept."""
    kind = next((kind for kind in KINDS if kind in file.stem.lower()), "")
    if not kind:
        yield Refusal(name, "", _("The file name says neither understanding nor reasoning."))
        return
    try:
        records = records_of(_json(file))
    except RowRefused as refused:
        yield Refusal(name, "", refused.reason)
        return
    for number, record in enumerate(records, start=1):
        where = _("record %(number)d") % {"number": number}
        try:
            audio_name, question = question_read(record, kind)
        except RowRefused as refused:
            yield Refusal(name, refused.row or where, refused.reason)
            continue
        found.setdefault(audio_name, []).append(question)


def _joined(files: Mapping[str, str], questions: Questions) -> list[dict[str, Any]]:
    """The questions about the deliveries of one script; one asked of several of them with the same options is one."""
    joined: list[dict[str, Any]] = []
    for label, name in files.items():
        for question in questions.get(name, []):
            same = next((other for other in joined if _alike(other, question) and label not in other["answers"]), None)
            if same is None:
                number = 1 + sum(other["kind"] == question["kind"] for other in joined)
                same = {**question, "key": f"{question['kind']}-{number}", "answers": {}}
                del same["answer"]
                joined.append(same)
            same["answers"][label] = question["answer"]
    return joined


def _alike(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    return all(first[part] == second[part] for part in ("kind", "type", "question")) and sorted(
        first["options"]
    ) == sorted(second["options"])
