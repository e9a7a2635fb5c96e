"""What is known about the items of a split that is no key: by what figures can be split up, and which belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.models import Split, SplitItem
from eqstudio.benchmarks import Benchmark
from evaluation.models import Study
from evaluation.selectors.sampled import sample_stored
from generation.models import Turn


@dataclass(frozen=True)
class ItemFacts:
    """``cluster`` is what the item shares with others of the same prompt or script; its own name where it shares nothing."""

    category: str
    composite: str
    language: str
    source: str
    cluster: str
    voices: tuple[str, ...] = ()
    extras: Mapping[str, Any] = field(default_factory=dict)

    def values(self, by: str) -> tuple[str, ...]:
        """The groups it belongs to."""
        return self.voices if by == "voice" else (str(getattr(self, by)),)


def item_facts(*, study: Study, benchmark: Benchmark) -> dict[int, ItemFacts]:
    """The facts of every item that the study asks, in the split's order. Three queries; reads the extras only where parts need
    them.
    """
    drawn = sample_stored(study)
    voices = _voices(study.split)
    groups = {category.key: category.group for category in benchmark.categories}
    names = ["dialogue_id", "dialogue__category", "dialogue__language", "dialogue__source", "dialogue__topic_key"]
    with_extras = [*names, "dialogue__extras"] if benchmark.parts_by_extras else names
    rows = SplitItem.objects.filter(split=study.split).order_by("position").values_list(*with_extras)
    return {
        item: ItemFacts(
            category=category,
            composite=groups.get(category, category),
            language=language,
            source=source,
            cluster=topic or f"#{item}",
            voices=voices.get(item, ()),
            extras=rest[0] if rest else {},
        )
        for item, category, language, source, topic, *rest in rows
        if not drawn or item in drawn
    }


def _voices(split: Split) -> dict[int, tuple[str, ...]]:
    """Who speaks the lines that are asked about."""
    found: dict[int, set[str]] = {}
    rows = (
        Turn.objects.filter(dialogue__split_items__split=split, role__in=["critical", "response"])
        .exclude(voice="")
        .order_by()
        .values_list("dialogue_id", "voice")
        .distinct()
    )
    for item, voice in rows:
        found.setdefault(item, set()).add(voice)
    return {item: tuple(sorted(voices)) for item, voices in found.items()}
