"""May this split be released? What is repeated in it, what it shares with another, and what gives the key away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.domain.leakage import Edge, clusters, repeated, shared, text_key, worst_edges
from annotation.domain.leakage_audio import alike_pairs
from annotation.domain.leakage_text import near_pairs
from annotation.models import Split
from annotation.selectors.audit_content import AuditContent, audit_content
from annotation.selectors.audit_people import (
    judges_who_answered,
    label_ceiling,
    shortcut_rows,
    split_verdict_agreement,
    text_solvability,
)

GROUPS_SHOWN, ITEMS_SHOWN, WORST_SHOWN = 100, 20, 1_000
"""A report names so many; the counts are of all."""
SHORT = 80


@dataclass(frozen=True)
class Check:
    """What one kind of check is about. ``blocks`` shuts the gate; ``relatives`` only count where they cross sides."""

    name: str
    kind: str
    message: str
    blocks: bool = False
    relatives: bool = False


CHECKS = (
    Check("clips", "clip", "Dialogues that contain the same recording", blocks=True),
    Check("texts", "text", "Dialogues with the same words", blocks=True),
    Check("recordings", "recording", "Dialogues with a recording that sounds the same, re-encoded or cut", blocks=True),
    Check("near", "near", "Dialogues with nearly the same words", blocks=True),
    Check("skeletons", "skeleton", "Dialogues that differ only in names and numbers"),
    Check("titles", "title", "Dialogues with the same title"),
    Check("speakers", "names", "Dialogues whose speakers bear the same names"),
    Check("templates", "template", "Sides that share a template", blocks=True, relatives=True),
    Check("scenarios", "scenario", "Sides that share a scenario", blocks=True, relatives=True),
    Check("topics", "topic", "Sides that share a topic", relatives=True),
    Check("persons", "speaker", "Sides that share a speaker", relatives=True),
    Check("voices", "voice", "Sides that share a voice", relatives=True),
)
Groups = Mapping[Hashable, list[str]]
Told = list[tuple[str, list[str]]]
"""Groups of items with what they share, as a person reads it."""
Progress = Callable[[str, int, int], object]
"""Called with the part of the work, and how much of how much of it is done."""


class _Part:
    """One part of the work; what of its rows is compared goes to ``progress``."""

    def __init__(self, name: str, total: int, progress: Progress) -> None:
        self._name, self._total, self._progress = name, total, progress
        self._done = 0
        self.advance(0)

    def advance(self, rows: int) -> None:
        self._done += rows
        self._progress(self._name, self._done, self._total)


def split_audit(
    *,
    split: Split,
    against: Split | None = None,
    audio: bool = True,
    progress: Progress = lambda _part, _done, _total: None,
) -> dict[str, Any]:
    """Everything an audit says of ``split``, alone and against another one.

    Recordings are compared by their stored prints (``services.prints_ensure`` makes them). Reads the split once; text and
    audio are compared in blocks, and ``progress`` hears of each: the parts are ``read``, ``texts``, ``sounds`` and ``people``.
    """
    reading = _Part("read", split.item_count + (against.item_count if against else 0), progress)
    here = audit_content(split=split, audio=audio, advance=reading.advance)
    there = audit_content(split=against, audio=audio, advance=reading.advance) if against is not None else None
    alike = _alike(here, there, progress)
    edges: list[Edge] = []
    checks = [_inside(check, here, alike, edges) for check in CHECKS]
    if there is not None:
        crossing = [check for check in CHECKS if check.name != "speakers"]
        checks += [_across(check, here, there, alike, edges, other=str(against)) for check in crossing]
    progress("people", 0, 0)
    found = {
        "split": str(split),
        "against": str(against) if against is not None else None,
        "items": split.item_count,
        "checks": checks,
        **_edges(edges, here),
        **_people(split, against),
    }
    return {**found, "summary": _summary(found)}


Alike = dict[tuple[str, bool], list[Edge]]
"""What is nearly the same, by kind, and whether it lies across two splits."""


def _alike(here: AuditContent, there: AuditContent | None, progress: Progress) -> Alike:
    """Hold every text and every recording against all others: what takes long."""
    pairs = [(False, here), *([(True, there)] if there is not None else [])]
    texts = _Part("texts", sum(max(len(here.texts), len(other.texts)) for _across, other in pairs), progress)
    found: Alike = {("near", across): list(_near(here, other, texts)) for across, other in pairs}
    sounds = _Part("sounds", 2 * len(here.prints) * len(pairs), progress)
    found |= {("recording", across): list(_recordings(here, other, sounds)) for across, other in pairs}
    return found


def _near(here: AuditContent, other: AuditContent, part: _Part) -> Iterator[Edge]:
    """Items with nearly the same words, within a split or across two; the very same ones are told elsewhere."""
    for near in near_pairs(here.texts, None if other is here else other.texts, advance=part.advance):
        if text_key(here.texts[near.here]) != text_key(other.texts[near.there]):
            evidence = _differ(here, near.here, other, near.there)
            yield Edge(here.order[near.here], other.order[near.there], "near", near.score, evidence)


def _inside(check: Check, here: AuditContent, alike: Alike, edges: list[Edge]) -> dict[str, Any]:
    """One check within a split. Relatives count where a group is on more than one side."""
    if (check.kind, False) in alike:
        return _by_edges(check, check.name, check.message, alike[check.kind, False], edges)
    groups: Groups = repeated(here.keys.get(check.kind, []))
    if check.relatives:
        groups = {key: items for key, items in groups.items() if len({here.sides[item] for item in items}) > 1}
    else:
        groups = _not_copies(check, here, groups)
    told = [(here.spelled(check.kind, str(key), items[0]), items) for key, items in groups.items()]
    edges += _star(check.kind, told)
    return _finding(check, check.name, check.message, told)


def _not_copies(check: Check, here: AuditContent, groups: Groups) -> Groups:
    """Skeletons whose dialogues have the very same words are told under texts already."""
    if check.kind != "skeleton":
        return groups
    words = dict(here.keys.get("text", []))
    return {key: items for key, items in groups.items() if len({words[item] for item in items}) > 1}


def _no_copies_of(there: AuditContent, check: Check, here: AuditContent) -> list[tuple[str, str]]:
    """The keys of ``here``; for skeletons without items whose very words are there, which are told under texts already."""
    pairs = here.keys.get(check.kind, [])
    if check.kind != "skeleton":
        return pairs
    words = {key for _item, key in there.keys.get("text", [])}
    copies = {item for item, key in here.keys.get("text", []) if key in words}
    return [(item, key) for item, key in pairs if item not in copies]


def _across(
    check: Check, here: AuditContent, there: AuditContent, alike: Alike, edges: list[Edge], *, other: str
) -> dict[str, Any]:
    """One check of a split against another."""
    name, message = f"{check.name} in {other}", check.message
    if (check.kind, True) in alike:
        return _by_edges(check, name, message, alike[check.kind, True], edges)
    pairs = there.keys.get(check.kind, [])
    groups = shared(_no_copies_of(there, check, here), pairs)
    first: dict[str, str] = {}
    for item, key in pairs:
        first.setdefault(key, item)
    told = [(here.spelled(check.kind, str(key), items[0]), items) for key, items in groups.items()]
    for group, (evidence, items) in zip(groups, told, strict=True):
        edges += [Edge(item, first[str(group)], check.kind, evidence=evidence[:SHORT]) for item in items]
    return _finding(check, name, message, told)


def _star(kind: str, told: Told) -> Iterator[Edge]:
    """Edges from the first of each group to the others: enough to connect it."""
    for evidence, items in told:
        yield from (Edge(items[0], item, kind, evidence=evidence[:SHORT]) for item in items[1:])


def _recordings(here: AuditContent, other: AuditContent, part: _Part) -> Iterator[Edge]:
    """Items with recordings that sound alike but are different files."""
    seen: set[tuple[str, str]] = set()
    for alike in alike_pairs(here.prints, None if other is here else other.prints, advance=part.advance):
        for a in sorted(here.clip_items.get(alike.here, ())):
            for b in sorted(other.clip_items.get(alike.there, ())):
                pair = (min(a, b), max(a, b))
                if a != b and pair not in seen:
                    seen.add(pair)
                    yield Edge(a, b, "recording", alike.score, f"{alike.by} {alike.here[:12]} {alike.there[:12]}")


def _differ(here: AuditContent, a: int, there: AuditContent, b: int) -> str:
    """Both texts from shortly before where they begin to differ."""
    one, other = here.texts[a], there.texts[b]
    same = next((at for at, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))
    start = max(0, same - SHORT // 4)
    return f"{one[start : start + SHORT]} / {other[start : start + SHORT]}"


def _by_edges(check: Check, name: str, message: str, found: list[Edge], edges: list[Edge]) -> dict[str, Any]:
    edges += found
    told = [(f"{edge.score:.2f} {edge.evidence}", [edge.here, edge.there]) for edge in found]
    return _finding(check, name, message, told)


def _finding(check: Check, name: str, message: str, told: Told) -> dict[str, Any]:
    shown = [
        {"key": key[:SHORT], "count": len(items), "items": items[:ITEMS_SHOWN]} for key, items in told[:GROUPS_SHOWN]
    ]
    return {
        "name": name,
        "kind": check.kind,
        "message": message,
        "passed": not told,
        "blocks": check.blocks,
        "found": len(told),
        "items": len({item for _key, items in told for item in items}),
        "groups": shown,
    }


def _edges(edges: Iterable[Edge], here: AuditContent) -> dict[str, Any]:
    """The worst edge of each item of this split, and chains of copies. A dialogue that is in both splits is no copy of itself."""
    found = list(edges)
    worst = {item: edge for item, edge in worst_edges(found).items() if item in here.places}
    grouped = clusters([edge for edge in found if edge.here != edge.there])
    return {
        "clusters": [
            {
                "items": cluster.items[:ITEMS_SHOWN],
                "count": len(cluster.items),
                "edges": [edge.as_dict() for edge in cluster.edges[:ITEMS_SHOWN]],
            }
            for cluster in grouped[:GROUPS_SHOWN]
        ],
        "worst": {
            item: edge.as_dict()
            for item, edge in sorted(worst.items(), key=lambda pair: (pair[1].badness, pair[0]))[:WORST_SHOWN]
        },
        "marked": dict(Counter(edge.kind for edge in worst.values())),
    }


def _people(split: Split, against: Split | None) -> dict[str, Any]:
    judges = judges_who_answered(split=split)
    return {
        "shortcuts": shortcut_rows(split=split),
        "text_only": text_solvability(split=split),
        "agreement": split_verdict_agreement(split=split),
        "ceiling": {name: found.as_dict() for name, found in label_ceiling(split=split).items()},
        "judges_who_answered": judges,
        "compared_with": str(against) if against is not None else None,
    }


def _summary(found: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest and a gate need: what is wrong, in short."""
    shut = [check["name"] for check in found["checks"] if check["blocks"] and not check["passed"]]
    shut += [f"shortcut: {row['cue']}" for row in found["shortcuts"] if row["warns"]]
    if found["text_only"]["warns"]:
        shut.append("text only")
    if found["judges_who_answered"]["people"]:
        shut.append("judges who answered")
    return {
        "passed": not shut,
        "shut_by": shut,
        "found": {check["name"]: check["found"] for check in found["checks"]},
        "shortcuts": {row["cue"]: row["accuracy"] for row in found["shortcuts"]},
        "text_only": found["text_only"]["accuracy"],
        "ceiling": found["ceiling"],
    }
