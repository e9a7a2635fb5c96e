"""What one person is asked, in which order: practice first, then items with attention items and repetitions among them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from random import Random

ITEM, PRACTICE, ATTENTION, REPEAT = "", "practice", "attention", "repeat"
Entry = tuple[int, str]
"""A dialogue and what it is there for."""


def items_choose(
    order: Sequence[int],
    *,
    size: int | None,
    barred: Collection[int] = (),
    twins: Mapping[int, str] | None = None,
    asked: Mapping[int, int] | None = None,
) -> list[int]:
    """The items of one sitting, in the order given.

    Those that the fewest people were asked so far (``asked``) go first, so that all get equally many answers. ``barred`` ones are
    left out. Of twins (items with the same key in ``twins``) one is taken, as long as that leaves enough.
    """
    free = [item for item in order if item not in set(barred)]
    if size is None or size >= len(free):
        return free
    counts = asked or {}
    ranked = sorted(free, key=lambda item: counts.get(item, 0))  # stable: ties stay in the person's own order
    chosen: list[int] = []
    late: list[int] = []
    known: set[str] = set()
    for item in ranked:
        key = (twins or {}).get(item, "")
        (late if key and key in known else chosen).append(item)
        known.add(key)
    kept = set([*chosen, *late][:size])
    return [item for item in free if item in kept]


def plan_build(
    items: Sequence[int],
    *,
    practice: Sequence[int] = (),
    attention: Sequence[int] = (),
    repeats: int = 0,
    rng: Random,
) -> list[Entry]:
    """The whole sitting as (dialogue, part).

    Attention items are spread evenly, never first. Items of the first half are repeated in its later part, with at least half of
    the items in between; there are no more repetitions than the first half has items.
    """
    half = len(items) // 2
    exam: list[Entry] = [(item, ITEM) for item in items]
    places = sorted(rng.sample(range(half), min(repeats, half)), reverse=True)
    for place in places:  # from the back, so that what was placed does not move what comes
        least = place + 1 + half
        exam.insert(rng.randint(least, len(exam)), (items[place], REPEAT))
    return [*((one, PRACTICE) for one in practice), *_spread(exam, attention, rng)]


def _spread(exam: list[Entry], attention: Sequence[int], rng: Random) -> list[Entry]:
    """One attention item somewhere in each of equally long stretches."""
    found = list(exam)
    step = len(exam) / len(attention) if attention else 0.0
    spots = [min(len(exam), round(n * step) + rng.randint(1, max(1, round(step)))) for n in range(len(attention))]
    for spot, one in sorted(zip(spots, attention, strict=True), reverse=True):
        found.insert(spot, (one, ATTENTION))
    return found
