"""What goes into a split: a recipe read from a table, and the rules it stands for."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from eqstudio.errors import InvalidInput

OUTCOMES = ("kept", "rejected", "disputed")


@dataclass(frozen=True)
class Recipe:
    """``outcome`` that an item of a round must have, ``minimum_people`` whose judgements count, and how many items at
    most (``size``, ``per_category``; 0 is no limit). ``benchmark``, ``language`` and ``source`` narrow it down.
    """

    outcome: str = "kept"
    minimum_people: int = 0
    benchmark: str = ""
    language: str = ""
    source: str = ""
    size: int = 0
    per_category: int = 0

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recipe:
        """Read a recipe; InvalidInput names the key that is unknown or of the wrong kind."""
        known = {field.name: type(field.default) for field in fields(cls)}
        for name, value in data.items():
            if name not in known:
                raise InvalidInput(f"Recipe: unknown key {name!r}. Known: {', '.join(sorted(known))}.", field=name)
            if not isinstance(value, known[name]) or isinstance(value, bool) or (isinstance(value, int) and value < 0):
                expected = "text" if known[name] is str else "a whole number, 0 or more"
                raise InvalidInput(f"Recipe: {name} should be {expected}, not {value!r}.", field=name)
        recipe = cls(**data)
        if recipe.outcome not in OUTCOMES:
            raise InvalidInput(f"Recipe: outcome should be one of {', '.join(OUTCOMES)}.", field="outcome")
        return recipe

    @classmethod
    def from_toml(cls, text: str) -> Recipe:
        try:
            return cls.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"Recipe: not TOML: {error}.", field="recipe") from error

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Offered:
    """One item that may go into a split. ``identity`` is its content hash: the same on every machine."""

    key: int
    identity: str
    category: str
    people: int = 0


def choose(items: list[Offered], recipe: Recipe) -> list[Offered]:
    """The items a recipe takes, in the stable order of category and content.

    Limits take items by content hash, which knows nothing of quality, people or the order in which items were made.
    """
    stable = sorted(items, key=lambda item: (item.category, item.identity))
    fit = [item for item in stable if item.people >= recipe.minimum_people]
    if recipe.per_category:
        counted: dict[str, int] = {}
        limited = []
        for item in fit:
            counted[item.category] = counted.get(item.category, 0) + 1
            if counted[item.category] <= recipe.per_category:
                limited.append(item)
        fit = limited
    if recipe.size:
        taken = {item.key for item in sorted(fit, key=lambda item: item.identity)[: recipe.size]}
        fit = [item for item in fit if item.key in taken]
    return fit
