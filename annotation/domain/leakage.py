"""What would make a split easier than it looks: repeated content, groups that two sides share, and chains of both."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

_NOT_WORDS = re.compile(r"[\W_]+")
_NUMBERS = re.compile(r"\d+|[零〇一二两三四五六七八九十百千万]+(?=[点个次年月日号分元块])")
_CAPITAL = re.compile(r"\b[A-Z][\w'’]*")

KINDS = (
    "clip", "text", "recording", "near", "skeleton", "template", "scenario", "title", "names", "topic", "speaker", "voice",
)  # fmt: skip
"""What two items may share, the worst first."""
COPIES = frozenset({"clip", "text", "recording", "near", "skeleton"})
"""Kinds that make two items the same item; the others only make them relatives."""


def text_key(text: str) -> str:
    """A text without case, punctuation, spaces and width, so that copies that differ only in these are found."""
    return _NOT_WORDS.sub("", unicodedata.normalize("NFKC", text).casefold())


def skeleton(text: str, names: Iterable[str] = ()) -> str:
    """A text with its names and numbers taken out: what a template leaves when its slots are emptied.

    ``names`` are those of the speakers; in English every word with a capital counts as one.
    """
    plain = unicodedata.normalize("NFKC", text)
    for name in sorted({name for name in names if name}, key=len, reverse=True):
        plain = plain.replace(unicodedata.normalize("NFKC", name), " ")
    return text_key(_NUMBERS.sub(" ", _CAPITAL.sub(" ", plain)))


def repeated(keyed: Iterable[tuple[str, Hashable]]) -> dict[Hashable, list[str]]:
    """From (owner, key) pairs, the keys that more than one owner has, with their owners. Empty keys are no keys."""
    owners: dict[Hashable, dict[str, None]] = defaultdict(dict)
    for owner, key in keyed:
        if key:
            owners[key][owner] = None
    return {key: list(found) for key, found in owners.items() if len(found) > 1}


def shared(here: Iterable[tuple[str, Hashable]], there: Iterable[tuple[str, Hashable]]) -> dict[Hashable, list[str]]:
    """Keys that occur on both sides, with their owners on this side."""
    known = {key for _, key in there if key}
    owners: dict[Hashable, dict[str, None]] = defaultdict(dict)
    for owner, key in here:
        if key in known:
            owners[key][owner] = None
    return {key: list(found) for key, found in owners.items()}


@dataclass(frozen=True, slots=True)
class Edge:
    """Item ``here`` and item ``there`` share something of this ``kind``, to ``score`` (0-1); ``evidence`` shows it."""

    here: str
    there: str
    kind: str
    score: float = 1.0
    evidence: str = ""

    @property
    def badness(self) -> tuple[int, float]:
        """Smaller is worse."""
        return KINDS.index(self.kind), -self.score

    def as_dict(self) -> dict[str, str | float]:
        return {
            "here": self.here,
            "there": self.there,
            "kind": self.kind,
            "score": round(self.score, 4),
            "evidence": self.evidence,
        }


def worst_edges(edges: Iterable[Edge]) -> dict[str, Edge]:
    """By item, the worst of what it shares with any other."""
    found: dict[str, Edge] = {}
    for edge in edges:
        for item in (edge.here, edge.there):
            if item not in found or edge.badness < found[item].badness:
                found[item] = edge
    return found


@dataclass(frozen=True)
class Cluster:
    """Items that are copies of each other, directly or through others, with the edges that say so."""

    items: list[str]
    edges: list[Edge] = field(default_factory=list)


def clusters(edges: Sequence[Edge]) -> list[Cluster]:
    """Connected items, the largest cluster first; only copies connect."""
    parent: dict[str, str] = {}

    def root(item: str) -> str:
        parent.setdefault(item, item)
        while parent[item] != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    strong = [edge for edge in edges if edge.kind in COPIES]
    for edge in strong:
        parent[root(edge.there)] = root(edge.here)
    members: dict[str, list[str]] = defaultdict(list)
    for item in parent:
        members[root(item)].append(item)
    lines: dict[str, list[Edge]] = defaultdict(list)
    for edge in strong:
        lines[root(edge.here)].append(edge)
    found = [Cluster(sorted(items), lines[name]) for name, items in members.items()]
    return sorted(found, key=lambda cluster: (-len(cluster.items), cluster.items))
