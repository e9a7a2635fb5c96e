"""The reason in an answer: the same one field of every system, whatever else it said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from eqstudio.benchmarks.parsing_json import field_values
from eqstudio.benchmarks.parsing_text import Folded

FIELDS = ("reason", "reasoning", "rationale", "explanation", "why", "理由", "原因")
LONGEST = 4_000
_THINK = re.compile(r"<think>.*?(?:</think>|$)", re.DOTALL | re.IGNORECASE)
_BARE = re.compile(
    r"[\s*_`\"'(\[#]*(?:(?:final\s+)?answer|答案|selected|choice)?[\s:=：]*(?:option\s*)?[A-Ha-h1-9][\s*_`\"')\].。!]*",
    re.IGNORECASE,
)


def rationale_of(raw: str, paradata: Mapping[str, Any]) -> str:
    """Why, in the respondent's own words; empty where it gave no reason.

    A JSON field of that name (also in broken JSON), else what a file kept apart as ``reasoning``, else the text itself if it is
    more than an answer. Nothing is rewritten.
    """
    found = next((text for name in FIELDS if (text := _literal(raw, name))), "")
    if not found:
        found = next((one.text.strip() for one in field_values(Folded.plain(raw), FIELDS) if one.text.strip()), "")
    if not found and isinstance(paradata.get("reasoning"), str):
        found = str(paradata["reasoning"]).strip()
    if not found and "{" not in raw:
        text = _THINK.sub("", raw).strip()
        lines = [line for line in text.splitlines() if line.strip() and not _BARE.fullmatch(line)]
        found = "\n".join(lines).strip()
    return found[:LONGEST]


def _literal(raw: str, name: str) -> str:
    """A field written as a JSON string, wherever it stands."""
    match = re.search(rf'"{name}"\s*:\s*("(?:[^"\\]|\\.)*")', raw, re.DOTALL)
    if match is None:
        return ""
    try:
        return str(json.loads(match[1], strict=False)).strip()
    except json.JSONDecodeError:
        return ""
