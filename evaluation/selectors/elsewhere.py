"""What other items of a split lend to a question: sounds in place of its own, descriptions that are wrong for it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from annotation.models import SplitItem
from evaluation.models import Study
from generation.models import Dialogue, Variant

FOIL_ITEMS = 6
"""How many neighbours in the split lend their descriptions."""


def swaps_of(*, study: Study, dialogue: Dialogue) -> dict[str, Variant]:
    """For every variant of a dialogue with sound, a variant of another item of the same language: always the same one, from the
    same place in the conversation where it has one. Empty in a split of one item. Three queries.
    """
    others = _others(study, dialogue)
    own = list(Variant.objects.filter(turn__dialogue=dialogue, clip__isnull=False).select_related("turn"))
    if not others:
        return {}
    chosen = {variant.uid: others[zlib.crc32(f"{study.seed}:{variant.uid}".encode()) % len(others)] for variant in own}
    found = Variant.objects.filter(turn__dialogue__in=set(chosen.values()), clip__isnull=False)
    there: dict[int, list[Variant]] = {}
    for variant in found.select_related("turn", "clip").prefetch_related("clip__renditions").order_by("uid"):
        there.setdefault(variant.turn.dialogue_id, []).append(variant)
    swaps = {variant.uid: _like(variant, there.get(chosen[variant.uid], [])) for variant in own}
    return {uid: other for uid, other in swaps.items() if other is not None}


def foils_of(*, study: Study, dialogue: Dialogue) -> tuple[str, ...]:
    """What was said of critical voices in the next items of the split of this language, each once. Two queries."""
    following = _others(study, dialogue)[:FOIL_ITEMS]
    tones = Variant.objects.filter(turn__dialogue__in=following, turn__role="critical").exclude(tone="")
    return tuple(dict.fromkeys(tones.order_by("turn__dialogue", "pk").values_list("tone", flat=True)))


def _others(study: Study, dialogue: Dialogue) -> list[int]:
    """The other dialogues of the split in this language, beginning with the one that follows."""
    rows = SplitItem.objects.filter(split=study.split_id, dialogue__language=dialogue.language)
    order = list(rows.order_by("position").values_list("dialogue_id", flat=True))
    place = order.index(dialogue.pk) if dialogue.pk in order else -1
    return [*order[place + 1 :], *order[: max(place, 0)]]


def _like(variant: Variant, others: Sequence[Variant]) -> Variant | None:
    """One of ``others``, from the same position where there is one."""
    same = [other for other in others if other.turn.position == variant.turn.position] or list(others)
    return same[zlib.crc32(variant.uid.encode()) % len(same)] if same else None
