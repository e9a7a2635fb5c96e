"""Dialogues as the studio itself writes them: nested in Parquet or JSONL, or a recording a row in CSV.

What makes the dialogue comes in as it was; what people said about it stays behind (``ratings_import`` reads that).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from generation.importers.base import Audio, DialogueRow, Embedded, Refusal, RowRefused, TurnRow, VariantRow
from generation.importers.files import file_inside
from generation.importers.flat import ROLES, category_known, language_known
from generation.importers.tables import Row

NESTED = frozenset({"dialogue_id", "benchmark", "category", "language", "turns"})
FLAT = frozenset({"dialogue_id", "position", "role", "label", "text", "audio"})
"""A row per rendition, by whoever wrote it."""
SAID = ("benchmark", "category", "language")
WRITTEN = FLAT | {"scenario", "extras"}
"""The same as the studio writes it."""
TOLD = (*SAID, "dialogue_id", "external_id", "title", "valence", "source", "template_key", "topic_key")
"""Columns that hold one text each."""
SPOKEN = ("pitch", "pitch_range", "rate", "volume", "gender")
"""What of a delivery is read by the studio's own checks."""
MAX_POSITION = 32_767
MAX_LABEL = 20
SOURCES = ("synthetic", "recorded", "imported")
T = TypeVar("T")
_ESCAPED = re.compile(r"''*[=+\-@\t\r\n]")


def is_ours(columns: Iterable[str]) -> bool:
    """Whether these are the columns of our nested rows."""
    return set(columns) >= NESTED


def our_dialogue(values: Mapping[str, Any], name: str, where: str, root: Path) -> DialogueRow:
    """A nested row, its sounds embedded or named relative to ``root``. RowRefused says what is missing or cannot be."""
    try:
        return _dialogue(values, name, where, root)
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as error:  # one bad row costs no other
        why = f"{type(error).__name__}: {error}"[:200]
        raise RowRefused(_("The row cannot be read: %(why)s.") % {"why": why}) from error


def _dialogue(values: Mapping[str, Any], name: str, where: str, root: Path) -> DialogueRow:
    for column in TOLD:
        if isinstance(values.get(column), list | dict):
            raise RowRefused(_("The column %(column)s holds no text.") % {"column": column})
    text = {key: str(value or "") for key, value in values.items() if not isinstance(value, list | dict)}
    benchmark, category = category_known(text["benchmark"], text["category"])
    if not isinstance(values["turns"], list) or not values["turns"]:
        raise RowRefused(_("The dialogue has no turns."))
    turns = tuple(_turn(turn, root) for turn in values["turns"])
    external_id = text.get("external_id") or text["dialogue_id"]
    if not external_id:
        raise RowRefused(_("The dialogue has no id."))
    twice = _twice([turn.position for turn in turns])
    if twice is not None:
        raise RowRefused(_("Two turns have the position %(position)d.") % {"position": twice})
    return DialogueRow(
        path=name,
        row=where,
        external_id=external_id,
        benchmark=benchmark,
        category=category,
        language=language_known(text["language"], turns[0].variants[0].text),
        turns=turns,
        title=text.get("title", ""),
        valence=text.get("valence", ""),
        source=text.get("source", "") if text.get("source") in SOURCES else "imported",
        scenario=_json_object(values, "scenario"),
        extras=_json_object(values, "extras"),
        template_key=text.get("template_key", ""),
        topic_key=text.get("topic_key", ""),
    )


def _twice(values: Iterable[T]) -> T | None:
    """The first value that is there a second time."""
    seen: set[T] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def _json_object(values: Mapping[str, Any], column: str) -> dict[str, Any]:
    value = values.get(column) or {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError) as error:
            raise RowRefused(_("The column %(column)s is not JSON.") % {"column": column}) from error
    if not isinstance(value, dict):
        raise RowRefused(_("The column %(column)s is not a JSON object.") % {"column": column})
    return value


def _turn(turn: Any, root: Path) -> TurnRow:
    if not isinstance(turn, dict):
        raise RowRefused(_("A turn lacks its position, its role or its variants."))
    position, role, variants = turn.get("position"), turn.get("role"), turn.get("variants")
    if (
        not isinstance(position, int)
        or isinstance(position, bool)
        or position < 1
        or role not in ROLES
        or not isinstance(variants, list)
        or not variants
    ):
        raise RowRefused(_("A turn lacks its position, its role or its variants."))
    if position > MAX_POSITION:
        raise RowRefused(
            _("A turn has the position %(position)s; expected at most %(most)d.")
            % {"position": f"{position:.3g}", "most": MAX_POSITION}
        )
    told = tuple(_variant(variant, position, root) for variant in variants)
    label = _twice([variant.label[:MAX_LABEL] for variant in told])
    if label is not None:
        raise RowRefused(
            _("Line %(position)d has two variants labelled %(label)s (the first %(most)d characters count).")
            % {"position": position, "label": label, "most": MAX_LABEL}
        )
    return TurnRow(
        position=position,
        role=role,
        speaker=str(turn.get("speaker") or ""),
        speaker_name=str(turn.get("speaker_name") or ""),
        gender=str(turn.get("gender") or ""),
        voice=str(turn.get("voice") or ""),
        variants=told,
    )


def _variant(variant: Any, position: int, root: Path) -> VariantRow:
    named = isinstance(variant, dict) and all(
        variant.get(field) and not isinstance(variant[field], list | dict) for field in ("label", "text")
    )
    if not named:
        raise RowRefused(_("Line %(position)d has a variant without label or text.") % {"position": position})
    grade = variant.get("intended_grade")
    if grade not in (None, 1, 2, 3, 4):
        raise RowRefused(_("The grade is %(value)r; expected 1, 2, 3 or 4.") % {"value": grade})
    return VariantRow(
        label=str(variant["label"]),
        text=str(variant["text"]),
        audio=_audio(variant, position, root),
        tone=str(variant.get("tone") or ""),
        grade=grade,
        rationale=str(variant.get("rationale") or ""),
        delivery=_delivery(variant, position),
    )


def _delivery(variant: Mapping[str, Any], position: int) -> dict[str, Any]:
    """How it is to be spoken: in figures or in words, for some sets tell it in words."""
    told = _json_object(variant, "delivery")
    for name in SPOKEN:
        value = told.get(name)
        if isinstance(value, list | dict) or (name == "gender" and not isinstance(value, str | None)):
            raise RowRefused(
                _(
                    "Line %(position)d, %(label)s: the %(name)s of its delivery is %(value).40r; expected one word or figure."
                )
                % {"position": position, "label": variant["label"], "name": name, "value": value}
            )
    return told


def _audio(variant: Mapping[str, Any], position: int, root: Path) -> Audio:
    audio, label = variant.get("audio"), str(variant["label"])
    if isinstance(audio, dict) and isinstance(audio.get("bytes"), bytes):
        return Embedded(PurePosixPath(str(audio.get("path") or label)).name, audio["bytes"])
    if not isinstance(audio, str) or not audio:
        raise RowRefused(_("Line %(position)d, %(label)s, has no audio.") % {"position": position, "label": label})
    return file_inside(root, audio)


def dialogues_of(
    rows: Iterable[Row | Refusal], name: str, root: Path, defaults: Mapping[str, str]
) -> Iterator[DialogueRow | Refusal]:
    """A row per rendition: the rows of a dialogue follow each other. ``defaults`` hold where a row does not say it."""
    here: list[Row] = []
    for row in rows:
        if isinstance(row, Refusal):
            yield row
            continue
        if here and here[0].values["dialogue_id"] != row.values["dialogue_id"]:
            yield _together(here, name, root, defaults)
            here = []
        here.append(row)
    if here:
        yield _together(here, name, root, defaults)


def _together(rows: list[Row], name: str, root: Path, defaults: Mapping[str, str]) -> DialogueRow | Refusal:
    try:
        lines = [{key: _plain(value) for key, value in row.values.items()} for row in rows]
        turns: dict[str, dict[str, Any]] = {}
        for line in lines:
            turn = turns.setdefault(line["position"], {**line, "position": _number(line["position"]), "variants": []})
            turn["variants"].append({**line, "intended_grade": _number(line.get("intended_grade", ""))})
        told = {**dict.fromkeys(SAID, ""), **defaults, **{key: value for key, value in lines[0].items() if value}}
        return our_dialogue({**told, "turns": list(turns.values())}, name, rows[0].where, root)
    except RowRefused as refused:
        return Refusal(path=name, row=rows[0].where, reason=refused.reason)


def _plain(value: Any) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from taking it for a formula."""
    text = str(value or "")
    return text[1:] if _ESCAPED.match(text) else text


def _number(text: str) -> int | None:
    if text == "":
        return None
    try:
        return int(text)
    except ValueError as error:
        raise RowRefused(_("%(value)r is no whole number.") % {"value": text}) from error


def as_it_was(row: DialogueRow, beside: Any) -> DialogueRow:
    """``row`` of another layout with what that layout has no field for, as our exporters put it beside (``eqstudio``).

    Taken only where it agrees in form; the words and the sounds are always the layout's own.
    """
    if not isinstance(beside, dict):
        return row
    said = {name: beside[name] for name in ("valence", "title", "template_key", "topic_key") if _text(beside, name)}
    if beside.get("source") in SOURCES:
        said["source"] = beside["source"]
    if _text(beside, "external_id") or _text(beside, "dialogue_id"):
        said["external_id"] = beside.get("external_id") or beside["dialogue_id"]
    if beside.get("language") in ("en", "zh"):
        said["language"] = beside["language"]
    documents = {name: beside[name] for name in ("scenario", "extras") if isinstance(beside.get(name), dict)}
    told = beside.get("turns") if isinstance(beside.get("turns"), list) else []
    turns = {
        turn["position"]: turn
        for turn in told or []
        if isinstance(turn, dict) and isinstance(turn.get("position"), int)
    }
    return replace(
        row, **said, **documents, turns=tuple(_turn_was(turn, turns.get(turn.position, {})) for turn in row.turns)
    )


def _text(beside: Mapping[str, Any], name: str) -> bool:
    return isinstance(beside.get(name), str)


def _turn_was(turn: TurnRow, beside: Mapping[str, Any]) -> TurnRow:
    said = {name: beside[name] for name in ("speaker", "speaker_name", "gender", "voice") if _text(beside, name)}
    told = beside.get("variants") if isinstance(beside.get("variants"), list) else []
    known = {
        variant["label"]: variant for variant in told or [] if isinstance(variant, dict) and _text(variant, "label")
    }
    return replace(turn, **said, variants=tuple(_variant_was(v, known.get(v.label, {})) for v in turn.variants))


def _variant_was(variant: VariantRow, beside: Mapping[str, Any]) -> VariantRow:
    said: dict[str, Any] = {name: beside[name] for name in ("tone", "rationale") if _text(beside, name)}
    if isinstance(beside.get("delivery"), dict):
        said["delivery"] = beside["delivery"]
    if beside.get("intended_grade") in (1, 2, 3, 4):
        said["grade"] = beside["intended_grade"]
    return replace(variant, **said)
