"""Reads the bilingual texts that lie beside the benchmarks as TOML: taxonomies, rubrics, instructions, examples."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqstudio.benchmarks.base import Category, Reason, RubricLevel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from eqstudio.benchmarks.base import Text

LANGUAGES = ("en", "zh")


@cache
def texts_load(name: str) -> dict[str, Any]:
    """Return the texts of ``<name>.toml``. Callers must not change what they get: it is read once per process."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))


def text_of(entry: Mapping[str, Any]) -> Text:
    """The two languages of a table that may hold other things as well."""
    return {language: str(entry[language]).strip() for language in LANGUAGES}


def categories_read(data: Mapping[str, Any]) -> tuple[Category, ...]:
    """The taxonomy told by ``[groups]``, an optional ``[levels]`` and ``[[category]]``."""
    levels = data.get("levels", {})
    return tuple(
        Category(
            key=entry["key"],
            label=text_of(entry),
            group=entry["group"],
            group_label=text_of(data["groups"][entry["group"]]),
            description=text_of(entry["about"]),
            level=data["groups"][entry["group"]].get("level", ""),
            level_label=text_of(levels[data["groups"][entry["group"]]["level"]]) if levels else {},
        )
        for entry in data["category"]
    )


def rubrics_read(data: Mapping[str, Any]) -> dict[str, tuple[RubricLevel, ...]]:
    """The four anchored grades of every category.

    A category tells its own ``anchors``, or its group does, with ``{cue}`` for what the category is heard by.
    """
    return {entry["key"]: _rubric_read(data, entry) for entry in data["category"]}


def _rubric_read(data: Mapping[str, Any], entry: Mapping[str, Any]) -> tuple[RubricLevel, ...]:
    anchors = entry.get("anchors") or data["groups"][entry["group"]]["anchors"]
    cue = entry.get("cue", {})
    return tuple(
        RubricLevel(
            grade=grade,
            name=text_of(data["grades"][str(grade)]),
            anchor={
                language: _sentence(anchors[language][grade - 1].format(cue=cue.get(language, "")))
                for language in LANGUAGES
            },
        )
        for grade in (1, 2, 3, 4)
    )


def _sentence(text: str) -> str:
    """A filled template may start with its cue, so the first letter is put in upper case here."""
    return text[:1].upper() + text[1:]


@cache
def reasons() -> tuple[Reason, ...]:
    """Why an item may be rejected; the same for all benchmarks, so that rounds can be compared."""
    return tuple(Reason(code=entry["code"], label=text_of(entry)) for entry in texts_load("texts")["reason"])


def names_draw(language: str, rng: Random) -> tuple[tuple[str, str], tuple[str, str]]:
    """Two different people as (name, gender), for examples."""
    pool = [(name, gender) for gender, names in texts_load("names")[language].items() for name in names]
    first, second = rng.sample(pool, 2)
    return first, second


def place_of(language: str, setting: str) -> str:
    """Where an example of this setting happens."""
    places: dict[str, str] = texts_load("texts")["places"][language]
    return places.get(setting, places["friends"])
