"""What the logs of evaluation harnesses have in common: samples that name an item and a question, and options with letters.

The task files that ``split_export`` writes give a question the id ``<item>/<question>``; logs of other makers may name them
in fields of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_ITEMS = ("dialogue_id", "item", "item_id", "external_id", "dataset_id")
_TRIALS = ("trial", "trial_key", "question_key")


class Place(NamedTuple):
    """Which question a sample asks; ``also`` are other ids of the item."""

    item: str
    trial: str
    also: tuple[str, ...] = ()


def place_of(sample_id: Any, told: Mapping[str, Any]) -> Place:
    """From the id of a sample and what is told about it; empty where it does not say."""
    named = [str(told[name]) for name in _ITEMS if told.get(name)]
    trial = next((str(told[name]) for name in _TRIALS if told.get(name)), "")
    whole = str(told.get("id") or sample_id or "")
    head, slash, tail = whole.rpartition("/")
    if slash:
        named, trial = [*named, head], trial or tail
    items = tuple(dict.fromkeys(named))
    return Place(items[0], trial, items[1:]) if items else Place(whole, trial)


def letters_of(values: Any) -> tuple[str, ...]:
    """What could be answered, as text; nothing where the sample does not say."""
    return tuple(str(value) for value in values) if isinstance(values, list | tuple) else ()


def options_in(texts: Iterable[str], letters: Iterable[str]) -> tuple[str, ...]:
    """The words behind the letters, where every letter has some: ``A: words``; the last such line of a letter counts."""
    lines = [line for text in texts for line in text.split("\n")]
    found = []
    for letter in letters:
        words = [line.removeprefix(f"{letter}:").strip() for line in lines if line.startswith(f"{letter}:")]
        if not words or not words[-1] or words[-1] == "<audio>":
            return ()
        found.append(words[-1])
    return tuple(found)


def slot_of(letters: tuple[str, ...], value: Any) -> int | None:
    """The place of a letter among those that could be answered."""
    return letters.index(str(value)) if str(value) in letters else None
