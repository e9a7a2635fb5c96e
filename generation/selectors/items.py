"""Dialogues as a benchmark sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import prefetch_related_objects

from eqstudio.benchmarks.base import ItemView, TurnView, VariantView
from generation.models import Dialogue, Rendition, Turn, Variant


def item_views(*, dialogues: Iterable[Dialogue]) -> list[ItemView]:
    """One view per dialogue, in the order given; two queries however many there are."""
    rows = list(dialogues)
    prefetch_related_objects(rows, "turns__variants")
    return [_item(row, [(turn, list(turn.variants.all())) for turn in row.turns.all()]) for row in rows]


@dataclass(frozen=True)
class WholeItem:
    """A dialogue as a benchmark sees it, with its variants (each with its turn and clip) and the copies of their clips."""

    dialogue: Dialogue
    view: ItemView
    variants: dict[str, Variant]
    copies: Mapping[int, Sequence[Rendition]]
    """By clip id; a clip without copies is not in it."""


def items_whole(*, ids: Iterable[int]) -> dict[int, WholeItem]:
    """Many dialogues whole, by id; four queries however many there are, and nothing is asked of the database after.

    For jobs that walk thousands: Django's prefetch makes a queryset for every row, which costs more than the rows.
    """
    dialogues = Dialogue.objects.in_bulk(list(ids))
    turns: dict[int, list[Turn]] = {pk: [] for pk in dialogues}
    variants: dict[int, list[Variant]] = {}
    by_turn: dict[int, Turn] = {}
    for turn in Turn.objects.filter(dialogue__in=turns):
        turn.dialogue = dialogues[turn.dialogue_id]
        turns[turn.dialogue_id].append(turn)
        by_turn[turn.pk] = turn
    clips = set()
    for variant in Variant.objects.filter(turn__in=by_turn).select_related("clip").defer("clip__peaks"):
        variant.turn = by_turn[variant.turn_id]
        variants.setdefault(variant.turn_id, []).append(variant)
        if variant.clip_id is not None:
            clips.add(variant.clip_id)
    copies: dict[int, list[Rendition]] = {}
    for copy in Rendition.objects.filter(clip__in=clips):
        copies.setdefault(copy.clip_id, []).append(copy)
    return {
        pk: WholeItem(
            dialogue=dialogue,
            view=_item(dialogue, [(turn, variants.get(turn.pk, [])) for turn in turns[pk]]),
            variants={variant.uid: variant for turn in turns[pk] for variant in variants.get(turn.pk, [])},
            copies=copies,
        )
        for pk, dialogue in dialogues.items()
    }


def item_view(*, dialogue: Dialogue) -> ItemView:
    return item_views(dialogues=[dialogue])[0]


def variants_by_uid(*, uids: Iterable[str]) -> dict[str, Variant]:
    """Variants with their clips and the copies of those by public id; unknown ids are left out. Two queries."""
    found = Variant.objects.filter(uid__in=list(uids)).select_related("clip", "turn")
    found = found.prefetch_related("clip__renditions")
    return {variant.uid: variant for variant in found}


def _item(dialogue: Dialogue, turns: Iterable[tuple[Turn, Iterable[Variant]]]) -> ItemView:
    return ItemView(
        uid=dialogue.uid,
        category=dialogue.category,
        language=dialogue.language,
        scenario=dialogue.scenario,
        turns=tuple(_turn(turn, variants) for turn, variants in turns),
        extras=dialogue.extras,
    )


def _turn(turn: Turn, variants: Iterable[Variant]) -> TurnView:
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
            for variant in variants
        ),
    )
