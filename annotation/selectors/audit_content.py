"""What an audit compares: of every item its text, its keys of each kind, and the prints of its recordings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from annotation.domain.leakage import skeleton, text_key
from annotation.domain.leakage_audio import VERSION, Print, prints_joined
from annotation.models import ClipPrint, Split
from annotation.selectors.split_content import Content, contents
from generation.models import Variant

_CHUNK = 500


@dataclass
class AuditContent:
    """``keys`` hold (item, key) pairs by kind; ``texts`` and ``order`` go by place, the rest by item."""

    order: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    sides: dict[str, str] = field(default_factory=dict)
    keys: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    prints: dict[str, Print] = field(default_factory=dict)
    clip_items: dict[str, set[str]] = field(default_factory=dict)
    """By SHA-256 of a clip, the items that contain it."""

    def spelled(self, kind: str, key: str, item: str) -> str:
        """What is shared, as ``item`` has it: keys of words have lost their spaces, and keys of scenarios tell nothing."""
        if kind == "title" or (kind == "scenario" and self.titles[item]):
            return self.titles[item]
        if kind in ("text", "skeleton"):
            return " ".join(self.texts[self.places[item]].split())
        return key


def audit_content(*, split: Split, audio: bool, advance: Callable[[int], object] = lambda _items: None) -> AuditContent:
    """Read a split for comparison; two queries per 500 items, and the stored prints when ``audio`` is asked for.

    ``advance`` hears of so many more items as are read.
    """
    found = AuditContent()
    rows = list(split.items.order_by("position").values_list("dialogue_id", "side"))
    for content, (_key, side) in zip(contents([key for key, _side in rows]), rows, strict=True):
        uid = content.row["uid"]
        found.places[uid] = len(found.order)
        found.order.append(uid)
        found.texts.append(content.text)
        found.sides[uid] = side
        found.titles[uid] = content.row["title"]
        for kind, key in _keys(content):
            found.keys.setdefault(kind, []).append((uid, key))
        for sha256 in content.clips.values():
            found.clip_items.setdefault(sha256, set()).add(uid)
        advance(1)
    if audio:
        found.prints = _prints(split)
    return found


def _keys(content: Content) -> Iterator[tuple[str, str]]:
    """Every (kind, key) of one item."""
    row, groups = content.row, content.groups
    yield "text", text_key(content.text)
    yield "skeleton", skeleton(content.text, content.speakers)
    yield "title", text_key(row["title"])
    yield "names", " + ".join(sorted({name for name in content.speakers if name}))
    for sha256 in dict.fromkeys(content.clips.values()):
        yield "clip", sha256
    for kind in ("template", "scenario", "topic", "speaker", "voice"):
        for name in groups[kind]:
            yield kind, name


def _prints(split: Split) -> dict[str, Print]:
    dialogues = split.items.values("dialogue_id")
    clips = Variant.objects.filter(turn__dialogue_id__in=dialogues, clip__isnull=False).values("clip_id")
    rows = ClipPrint.objects.filter(clip_id__in=clips, version=VERSION).values_list("clip__sha256", "shape", "marks")
    return prints_joined((sha256, bytes(shape), bytes(marks)) for sha256, shape, marks in rows.iterator())
