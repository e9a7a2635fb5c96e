"""May this split be released? What is repeated in it, what it shares with another, and which cues give the key away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from annotation.domain.leakage import repeated, shared, text_key
from annotation.models import Split
from generation.models import Dialogue
from generation.selectors import shortcuts_found

_CHUNK = 200
Keys = list[tuple[str, str]]


def split_audit(*, split: Split, against: Split | None = None) -> dict[str, Any]:
    """Repeats inside a split, overlap with ``against``, and how often an acoustic rule finds the key, with intervals."""
    here = _content(split)
    there = _content(against) if against is not None else None
    checks = []
    for name, (message, keys) in here.items():
        checks.append(_finding(name, message, repeated(keys)))
        if there is not None and name != "speakers":
            checks.append(_finding(f"{name} in {against}", message, shared(keys, there[name][1])))
    return {
        "split": str(split),
        "against": str(against) if against is not None else None,
        "items": split.item_count,
        "checks": checks,
        "shortcuts": _shortcuts(split),
    }


def _finding(name: str, message: str, found: dict[Any, list[str]]) -> dict[str, Any]:
    groups = [{"key": str(key)[:80], "items": owners} for key, owners in found.items()]
    return {"name": name, "message": message, "passed": not groups, "found": len(groups), "groups": groups}


def _dialogues(split: Split) -> Iterator[Dialogue]:
    found = Dialogue.objects.filter(split_items__split=split).order_by("split_items__position")
    return found.prefetch_related("turns__variants__clip").iterator(chunk_size=_CHUNK)


def _content(split: Split) -> dict[str, tuple[str, Keys]]:
    """Per check: what it is about, and (dialogue uid, key) pairs."""
    readers: dict[str, tuple[str, Callable[[Dialogue], Iterator[str]]]] = {
        "texts": ("Dialogues with the same words", _whole_text),
        "titles": ("Dialogues with the same title", lambda dialogue: iter([text_key(dialogue.title)])),
        "speakers": ("Dialogues whose speakers bear the same names", _cast),
        "clips": ("Dialogues that contain the same recording", _clips),
    }
    found: dict[str, tuple[str, Keys]] = {name: (message, []) for name, (message, _) in readers.items()}
    for dialogue in _dialogues(split):
        for name, (_, read) in readers.items():
            found[name][1].extend((dialogue.uid, key) for key in read(dialogue))
    return found


def _whole_text(dialogue: Dialogue) -> Iterator[str]:
    yield text_key(" ".join(variant.text for turn in dialogue.turns.all() for variant in turn.variants.all()))


def _cast(dialogue: Dialogue) -> Iterator[str]:
    yield " + ".join(sorted({turn.speaker_name for turn in dialogue.turns.all() if turn.speaker_name}))


def _clips(dialogue: Dialogue) -> Iterator[str]:
    for turn in dialogue.turns.all():
        for variant in turn.variants.all():
            if variant.clip is not None:
                yield variant.clip.sha256


def _shortcuts(split: Split) -> list[dict[str, Any]]:
    """The guard's rules over the clips as they were made. ``cue`` is the choice that does better, ``measure`` what it goes by."""
    dialogues = Dialogue.objects.filter(split_items__split=split)
    return [
        {
            "cue": rule.direction,
            "measure": rule.cue,
            "pairs": found.guard.pairs,
            "accuracy": rule.accuracy.as_dict(),
            "warns": rule.warns,
        }
        for found in shortcuts_found(dialogues=dialogues)
        for rule in found.guard.rules
        if found.guard.pairs
    ]
