"""May this split be released? What is repeated in it, what it shares with another, and which cues give the key away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from annotation.domain.leakage import CUES, cue_accuracy, repeated, shared, text_key
from annotation.models import Split
from eqstudio.benchmarks import benchmark_get
from generation.models import Dialogue, Variant

_CHUNK = 200
Keys = list[tuple[str, str]]
Measures = dict[str, float | None]


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
    labels = benchmark_get(split.benchmark).shortcut_pairs
    if labels is None:
        return []
    pairs = list(_pairs(split, labels))
    return [{"cue": cue.name, "pairs": len(pairs), "accuracy": cue_accuracy(pairs, cue).as_dict()} for cue in CUES]


def _pairs(split: Split, labels: tuple[str, str]) -> Iterator[tuple[Measures, Measures]]:
    rows = Variant.objects.filter(
        turn__dialogue__split_items__split=split, label__in=labels, clip__isnull=False
    ).values_list("turn_id", "label", "clip__loudness", "clip__duration", "clip__pitch")
    turns: dict[int, dict[str, Measures]] = {}
    for turn, label, loudness, duration, pitch in rows.iterator():
        turns.setdefault(turn, {})[label] = {"loudness": loudness, "duration": duration, "pitch": pitch}
    right, wrong = labels
    for found in turns.values():
        if right in found and wrong in found:
            yield found[right], found[wrong]
