"""The dialogues under ``demo/``: written by people, valid against the script schemas, marked as demo material.

Pure: reads files beside the package and nothing else. They are for trying the studio out, never for measuring.
"""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "demo"


@dataclass(frozen=True)
class DemoScript:
    """One demo dialogue. ``ordinal`` counts those of the same benchmark, category and language from 0."""

    id: str
    benchmark: str
    category: str
    language: str
    valence: str
    setting: str
    ordinal: int
    script: dict[str, Any]


@cache
def demo_scripts() -> tuple[DemoScript, ...]:
    """All demo dialogues in the order of the manifest. Read once per process; do not change what you get."""
    counts: dict[tuple[str, str, str], int] = {}
    found = []
    for entry in demo_manifest()["dialogues"]:
        kind = (entry["benchmark"], entry["category"], entry["language"])
        ordinal = counts.get(kind, 0)
        counts[kind] = ordinal + 1
        script = _scripts(f"{entry['benchmark']}-{entry['language']}")[entry["id"]]
        found.append(DemoScript(**entry, ordinal=ordinal, script=script))
    return tuple(found)


def demo_script(benchmark: str, category: str, language: str, ordinal: int) -> dict[str, Any] | None:
    """A copy of the ``ordinal``-th (from 0) script of a kind, or None where there is none."""
    for demo in demo_scripts():
        if (demo.benchmark, demo.category, demo.language, demo.ordinal) == (benchmark, category, language, ordinal):
            return deepcopy(demo.script)
    return None


@cache
def demo_manifest() -> dict[str, Any]:
    """The manifest: the notice that this is demo material, the licence, and one row per dialogue."""
    return tomllib.loads((FOLDER / "manifest.toml").read_text(encoding="utf-8"))


@cache
def _scripts(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
