"""Answer fields in JSON: whole, fenced, nested, or broken and read by the name of the field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from eqstudio.benchmarks.parsing_text import Folded

_MAX_OBJECTS = 40
_MAX_DEPTH = 6


def _pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name that stands there twice keeps all its values, so that a contradiction is seen."""
    kept: dict[str, Any] = {}
    for name, value in found:
        kept[name] = [kept[name], value] if name in kept and kept[name] != value else value
    return kept


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_pairs)


@dataclass(frozen=True)
class FieldValue:
    name: str
    text: str
    span: tuple[int, int]


def field_values(folded: Folded, names: tuple[str, ...]) -> list[FieldValue]:
    """Every answer field, by priority of its name within an object: one per object, the last object of equals last."""
    found: list[FieldValue] = []
    for value, span in _objects(folded.text):
        found.extend(_walk(value, names, span, 0))
    if found:
        return found
    return _broken(folded.text, names)


def text_field(folded: Folded, names: tuple[str, ...]) -> FieldValue | None:
    """The text of a reply or transcript, only where the whole output is one JSON object."""
    objects = list(_objects(folded.text))
    if len(objects) != 1:
        return None
    value, span = objects[0]
    outside = folded.text[: span[0]] + folded.text[span[1] :]
    if re.sub(r"```(?:json)?|\s", "", outside):
        return None
    return next((FieldValue(name, value[name], span) for name in names if isinstance(value.get(name), str)), None)


def _objects(text: str) -> Iterator[tuple[dict[str, Any], tuple[int, int]]]:
    position = tried = 0
    while tried < _MAX_OBJECTS:
        start = text.find("{", position)
        if start < 0:
            return
        tried += 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        position = end
        if isinstance(value, dict):
            yield value, (start, end)


def _walk(value: Any, names: tuple[str, ...], span: tuple[int, int], depth: int) -> Iterator[FieldValue]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for part in value:
            yield from _walk(part, names, span, depth + 1)
    if not isinstance(value, dict):
        return
    folded = {str(key).strip().lower().replace(" ", "_"): part for key, part in value.items()}
    for name in names:
        given = folded.get(name)
        for part in given if isinstance(given, list) else [given]:
            text = _scalar(part)
            if text is not None:
                yield FieldValue(name, text, span)
    for part in value.values():
        if isinstance(part, dict | list):
            yield from _walk(part, names, span, depth + 1)


def _scalar(value: Any) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None


def _broken(text: str, names: tuple[str, ...]) -> list[FieldValue]:
    """JSON that does not parse: the value right after ``"name":``."""
    if "{" not in text and '"' not in text:
        return []
    for name in names:
        pattern = re.compile(
            rf"""["']{re.escape(name).replace("_", "[_ ]")}["']\s*:\s*(?:"([^"\n]*)"?|'([^'\n]*)'?|([^\s,}}"']+))""",
            re.IGNORECASE,
        )
        found = [
            FieldValue(name, next(group for group in match.groups() if group is not None), match.span())
            for match in pattern.finditer(text)
        ]
        if found:
            return found
    return []
