"""The demo's dialogues as data: ``demo/<benchmark>/<name>.json``, each ``{"category", "language", "script"}``.

Scripts of one benchmark, category and language are numbered in the order of their file names.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from eqstudio.errors import InvalidInput

FOLDER = Path(__file__).resolve().parent.parent / "demo"


@dataclass(frozen=True)
class DemoEntry:
    """One script that there is. ``words`` is its length, Chinese characters counted as half a word."""

    benchmark: str
    category: str
    language: str
    ordinal: int
    words: int


@dataclass(frozen=True)
class _Script:
    entry: DemoEntry
    content: dict[str, Any]


def demo_catalogue() -> list[DemoEntry]:
    """Every demo script, by benchmark and file name."""
    return [script.entry for script in _scripts()]


def demo_script(benchmark: str, category: str, language: str, ordinal: int) -> dict[str, Any] | None:
    """The script number ``ordinal`` for a category and language; None when there is none."""
    wanted = (benchmark, category, language, ordinal)
    for script in _scripts():
        entry = script.entry
        if (entry.benchmark, entry.category, entry.language, entry.ordinal) == wanted:
            return script.content
    return None


@cache
def _scripts() -> tuple[_Script, ...]:
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for path in sorted(FOLDER.glob("*/*.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            kind = (path.parent.name, data["category"], data["language"])
            words = _words(json.dumps(data["script"], ensure_ascii=False))
            found.append(_Script(DemoEntry(*kind, ordinal=seen[kind], words=words), data["script"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{path.name}: a demo script holds category, language and script ({error}).") from error
        seen[kind] += 1
    return tuple(found)


def _words(text: str) -> int:
    ideographs = sum("\u4e00" <= character <= "\u9fff" for character in text)
    return len(text.split()) + ideographs // 2
