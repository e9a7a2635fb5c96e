"""Recordings that sound the same although their bytes are not, among practice and attention items and against a study's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from django.db.models import QuerySet

from annotation.domain.leakage_audio import VERSION, Print, alike_pairs, prints_joined
from annotation.models import ClipPrint, Split
from annotation.services import clips_measure
from evaluation.models import Study
from generation.models import Clip, Variant

MOST_MEASURED = 400
"""So many recordings of a split are measured at once, which takes seconds; those of a larger one by its audit."""
SHORTEST_S = 0.5
"""A shorter recording tells too little: two sighs may be alike and are no copies."""


class Heard(NamedTuple):
    """``own``: dialogues with a recording that sounds like one of the study's own; ``pairs``: those that sound like each other."""

    own: frozenset[int]
    pairs: frozenset[frozenset[int]]


def specials_measure(*, split: Split, codes: Iterable[str]) -> None:
    """Insert ClipPrints for what was not measured yet: all recordings of the dialogues with these public ids, and those of the
    split where they are few. It decodes sound for seconds: never inside a transaction that others wait for.
    """
    clips_measure(clips=_clips(turn__dialogue__uid__in=list(codes)))
    if not _too_many(split):
        clips_measure(clips=_clips(turn__dialogue__split_items__split=split))


def specials_heard(*, study: Study, dialogues: Iterable[int]) -> Heard:
    """Compare the recordings of ``dialogues`` with those of the study's items, and with each other, as far as they are measured."""
    chosen = _clips(turn__dialogue__in=list(dialogues))
    own = _clips(turn__dialogue__split_items__split=study.split)
    here = _prints(chosen)
    holders = _holders(here, dialogues)
    met = {one.here for one in alike_pairs(here, _prints(own)) if here}
    pairs = {
        frozenset((a, b)) for one in alike_pairs(here) for a in holders[one.here] for b in holders[one.there] if a != b
    }
    return Heard(frozenset(holder for name in met for holder in holders[name]), frozenset(pairs))


def left_to_audit(study: Study) -> int:
    """How many recordings of the study nobody has measured, where they are too many to do so at once: until the split is audited,
    a copy of them that was encoded anew is not recognised.
    """
    return _too_many(study.split)


def _too_many(split: Split) -> int:
    own = _clips(turn__dialogue__split_items__split=split)
    missing = own.exclude(prints__version=VERSION).count()
    return missing if missing > MOST_MEASURED else 0


def _clips(**where: object) -> QuerySet[Clip]:
    variants = Variant.objects.filter(clip__isnull=False, **where)
    return Clip.objects.filter(pk__in=variants.values("clip_id"), duration__gte=SHORTEST_S)


def _prints(clips: QuerySet[Clip]) -> Mapping[str, Print]:
    rows = ClipPrint.objects.filter(clip__in=clips, version=VERSION).values_list("clip__sha256", "shape", "marks")
    return prints_joined((sha256, bytes(shape), bytes(marks)) for sha256, shape, marks in rows.iterator())


def _holders(names: Iterable[str], dialogues: Iterable[int]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {name: set() for name in names}
    rows = Variant.objects.filter(clip__sha256__in=list(found), turn__dialogue__in=list(dialogues))
    for name, dialogue in rows.values_list("clip__sha256", "turn__dialogue_id"):
        found[name].add(dialogue)
    return found
