"""Dialogues as a benchmark sees them."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import prefetch_related_objects

from eqstudio.benchmarks.base import ItemView, TurnView, VariantView
from generation.models import Dialogue, Turn, Variant


def item_views(*, dialogues: Iterable[Dialogue]) -> list[ItemView]:
    """One view per dialogue, in the order given; two queries however many there are."""
    rows = list(dialogues)
    prefetch_related_objects(rows, "turns__variants")
    return [_item(row) for row in rows]


def item_view(*, dialogue: Dialogue) -> ItemView:
    return item_views(dialogues=[dialogue])[0]


def variants_by_uid(*, uids: Iterable[str]) -> dict[str, Variant]:
    """Variants with their clips and the copies of those by public id; unknown ids are left out. Two queries."""
    found = Variant.objects.filter(uid__in=list(uids)).select_related("clip", "turn")
    found = found.prefetch_related("clip__renditions")
    return {variant.uid: variant for variant in found}


def _item(dialogue: Dialogue) -> ItemView:
    return ItemView(
        uid=dialogue.uid,
        category=dialogue.category,
        language=dialogue.language,
        scenario=dialogue.scenario,
        turns=tuple(_turn(turn) for turn in dialogue.turns.all()),
        extras=dialogue.extras,
    )


def _turn(turn: Turn) -> TurnView:
    return TurnView(
        position=turn.position,
        role=turn.role,
        speaker=turn.speaker,
        variants=tuple(
            VariantView(
                uid=variant.uid,
                label=variant.label,
                text=variant.text,
                grade=variant.intended_grade,
                tone=variant.tone,
                has_audio=variant.clip_id is not None,
            )
            for variant in turn.variants.all()
        ),
    )
