"""Kinds are registry entries, never branches: alias -> class, imported on first use."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from eqstudio.errors import UnknownAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class Registry(Generic[T]):
    """A frozen table of kinds. Values are classes or lazy ``"package.module:Name"`` strings.

    A new kind is one new file and one line in the table that builds the registry.
    """

    def __init__(self, kind: str, entries: dict[str, str | type[T]]) -> None:
        self.kind = kind
        self._entries = dict(entries)
        self._loaded: dict[str, type[T]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, alias: object) -> bool:
        return alias in self._entries

    def get(self, alias: str) -> type[T]:
        """Return the class behind ``alias``; an unknown alias names those that exist (UnknownAlias)."""
        if alias not in self._entries:
            near = difflib.get_close_matches(alias, self._entries, n=1)
            raise UnknownAlias(kind=self.kind, alias=alias, known=list(self), near=near[0] if near else None)
        entry = self._entries[alias]
        if not isinstance(entry, str):
            return entry
        if alias not in self._loaded:
            module, _, name = entry.partition(":")
            self._loaded[alias] = getattr(import_module(module), name)
        return self._loaded[alias]

    def items(self) -> Iterator[tuple[str, type[T]]]:
        for alias in self:
            yield alias, self.get(alias)

    def choices(self) -> list[tuple[str, str]]:
        """Pairs for a form's choice field, without importing anything."""
        return [(alias, alias) for alias in self]
