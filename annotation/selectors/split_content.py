"""The content of dialogues as plain data, read without building rows: what identity, groups and manifests are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.domain.curation import GROUPS
from annotation.domain.manifest import content_hash
from eqstudio.errors import InvalidInput
from generation.models import Dialogue, Variant

CHUNK = 500
_DIALOGUE = (
    "pk", "uid", "external_id", "benchmark", "category", "language", "valence", "source", "title", "scenario", "extras",
    "template_key", "topic_key",
    "brief__benchmark", "brief__category", "brief__language", "brief__valence", "brief__setting", "brief__seed", "brief__batch__uid",
)  # fmt: skip
_BRIEF = tuple(name for name in _DIALOGUE if name.startswith("brief__") and name != "brief__batch__uid")
_VARIANT = (
    "turn__dialogue_id", "turn__position", "turn__role", "turn__speaker", "turn__speaker_name", "turn__voice",
    "label", "text", "intended_grade", "clip__sha256",
)  # fmt: skip


@dataclass(slots=True)
class Content:
    """One dialogue: its columns, and its turns as the content hash sees them."""

    row: dict[str, Any]
    turns: list[dict[str, Any]] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)
    voices: list[str] = field(default_factory=list)

    @property
    def identity(self) -> str:
        """SHA-256 of everything that is asked and heard. InvalidInput names the dialogue if its text is broken."""
        row = self.row
        names = ("benchmark", "category", "language", "scenario", "extras")
        try:
            return content_hash({**{name: row[name] for name in names}, "turns": self.turns})
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"A text of dialogue {row['uid']} ({row['external_id'] or row['title']!a}) holds half a character "
                f"(a lone surrogate), which no file can hold. Mend it or leave the dialogue out. Nothing was frozen.",
                field="recipe",
            ) from error

    @property
    def clips(self) -> dict[str, str]:
        """SHA-256 of each clip by ``position/label``."""
        return {
            f"{turn['position']}/{variant['label']}": variant["clip"]
            for turn in self.turns
            for variant in turn["variants"]
            if variant["clip"]
        }

    @property
    def text(self) -> str:
        """Every line once, in order: renditions often share their words."""
        lines = [variant["text"] for turn in self.turns for variant in turn["variants"]]
        return "\n".join(dict.fromkeys(lines))

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """By kind, the groups it is in, under names that are the same on every machine."""
        return {kind: self.group(kind) for kind in GROUPS}

    def group(self, kind: str) -> tuple[str, ...]:
        """The groups of one kind it is in."""
        row = self.row
        names: Iterable[str] = ()
        match kind:
            case "voice" | "speaker":
                names = sorted(set(self.voices if kind == "voice" else self.speakers))
            case "template" | "topic":
                names = (row[f"{kind}_key"],)
            case "scenario" if row["scenario"]:
                names = (canonical_key(row["scenario"]),)
            case "brief" if row["brief__benchmark"]:
                names = (canonical_key([row[name] for name in _BRIEF]),)
        return tuple(name for name in names if name)


def canonical_key(document: Any) -> str:
    """A short name for a JSON document, the same for the same content."""
    return content_hash(document)[:24]


def contents(keys: Sequence[int]) -> Iterator[Content]:
    """The dialogues with these keys, in that order, a chunk at a time; two queries per chunk."""
    for start in range(0, len(keys), CHUNK):
        chunk = list(keys[start : start + CHUNK])
        found = {row["pk"]: Content(row) for row in Dialogue.objects.filter(pk__in=chunk).values(*_DIALOGUE)}
        _turns_into(found, chunk)
        yield from (found[key] for key in chunk if key in found)


def _turns_into(found: dict[int, Content], chunk: list[int]) -> None:
    rows = Variant.objects.filter(turn__dialogue_id__in=chunk).order_by().values_list(*_VARIANT)
    by_dialogue: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        by_dialogue[row[0]].append(row)
    for key, variants in by_dialogue.items():
        content = found[key]
        for row in sorted(variants, key=lambda row: (row[1], row[6])):
            _dialogue, position, role, speaker, name, voice, label, text, grade, clip = row
            if not content.turns or content.turns[-1]["position"] != position:
                content.turns.append({"position": position, "role": role, "speaker": speaker, "variants": []})
                content.speakers.append(name)
                content.voices.append(voice)
            content.turns[-1]["variants"].append({"label": label, "text": text, "grade": grade, "clip": clip})
