"""Copies that are equally loud: what people and models hear of a line, whatever the level it was made at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from eqstudio.blobs import blob_put, blob_read
from eqstudio.errors import StudioError
from eqstudio.prepared import row_insert
from generation.domain.acoustics import level
from generation.domain.level import TARGET_LUFS, TRUE_PEAK_DBTP, Loud, decibels, shared_target, true_peak
from generation.domain.loudness import loudness
from generation.intake import Decoded, audio_decode, playable_copy
from generation.models import Clip, Corpus, Dialogue, Rendition, Turn, Variant

SAFE_DB = 6.0
"""Peaks between samples are hardly ever this much above the samples; only closer to the limit they are looked for."""


def clips_match(*, turn: Turn) -> list[Rendition]:
    """A copy of every clip of ``turn`` at one loudness: -23 LUFS, or the lower level at which none of them passes -1 dBTP.

    Renditions of one line so end equally loud; the originals stay. Nothing is done while a clip is missing or too quiet to
    be measured. A clip that has its copy keeps it, and the others join its level. Side effects per new copy: one stored
    blob, one Rendition. FileNotFoundError when the bytes of a clip are gone.
    """
    return _matched([_voiced(turn.variants.select_related("clip").order_by("pk"))])


def dialogue_match(*, dialogue: Dialogue) -> list[Rendition]:
    """Equally loud copies for every turn of a dialogue that is voiced; see ``clips_match``."""
    variants = Variant.objects.filter(turn__dialogue=dialogue).select_related("clip").order_by("turn__position", "pk")
    return variants_match(variants=variants)


def variants_match(*, variants: Iterable[Variant]) -> list[Rendition]:
    """As ``dialogue_match``, for renditions that are read already with their clips, line by line."""
    return _matched([_voiced(line) for _turn, line in groupby(variants, key=lambda variant: variant.turn_id)])


def copies_make(*, clips: Sequence[Clip]) -> list[Rendition]:
    """Equally loud copies of clips that stand beside each other, as ``clips_match`` says, before there is a turn for them."""
    return _matched([clips])


def _voiced(variants: Iterable[Variant]) -> list[Clip]:
    """The clips of a line; none while one is missing."""
    clips = [variant.clip for variant in variants]
    voiced = [clip for clip in clips if clip is not None]
    return voiced if len(voiced) == len(clips) else []


def _matched(lines: Iterable[Sequence[Clip]]) -> list[Rendition]:
    """The copies of each line's clips: those that are there, and the others made. Three queries, however many lines."""
    each = [list({clip.pk: clip for clip in line}.values()) for line in lines]
    audible = [line for line in each if all(clip.loudness is not None for clip in line)]
    wanted = [clip.pk for line in audible for clip in line]
    there, made = _there(wanted), list[Rendition]()
    for line in audible:
        missing = [clip for clip in line if clip.pk not in there]
        target = _target(missing, [there[clip.pk] for clip in line if clip.pk in there])
        copies = {clip.pk: _copy(clip, target) for clip in missing}
        there |= copies
        made += copies.values()
    if made and not _kept(made):
        Rendition.objects.bulk_create(made, ignore_conflicts=True)
        there = _there(wanted)
    return [there[pk] for pk in wanted]


def _kept(made: Iterable[Rendition]) -> bool:
    """Write the rows of new copies; False, and nothing written, where another process was first with one of them."""
    try:
        with transaction.atomic():
            for copy in made:
                row_insert(copy)
    except IntegrityError:
        for copy in made:
            copy.pk, copy._state.adding = None, True  # noqa: SLF001 -- Django's documented way to a new row
        return False
    return True


def _there(clips: Sequence[int]) -> dict[int, Rendition]:
    return {copy.clip_id: copy for copy in Rendition.objects.filter(clip__in=clips, kind=Rendition.Kind.MATCHED)}


def _target(clips: Sequence[Clip], there: Sequence[Rendition]) -> float:
    wanted = min([TARGET_LUFS, *(copy.parameters["target"] for copy in there)])
    near = [clip for clip in clips if _gain(clip, wanted) + clip.peak > TRUE_PEAK_DBTP - SAFE_DB]
    loud = [Loud(clip.loudness or wanted, decibels(_true_peak(clip))) for clip in near]
    return round(shared_target(loud, target=wanted), 2)


def _gain(clip: Clip, target: float) -> float:
    return target - (target if clip.loudness is None else clip.loudness)


def _true_peak(clip: Clip) -> float:
    decoded = _decoded(clip)
    return true_peak(decoded.samples, decoded.rate)


def _decoded(clip: Clip) -> Decoded:
    return audio_decode(data=blob_read(clip.sha256), name=f"clip {clip.uid}")


def _copy(clip: Clip, target: float) -> Rendition:
    """The copy of ``clip`` at ``target``, its bytes stored and its row not yet."""
    decoded = _decoded(clip)
    gain_db = _gain(clip, target)
    louder = replace(decoded, samples=decoded.samples * 10 ** (gain_db / 20))
    copy = playable_copy(louder)
    return Rendition(
        clip=clip,
        kind=Rendition.Kind.MATCHED,
        sha256=blob_put(copy.data),
        media_type="audio/wav",
        size=len(copy.data),
        frames=copy.frames,
        sample_rate=copy.rate,
        channels=copy.channels,
        duration=copy.frames / copy.rate,
        loudness=loudness(louder.samples, louder.rate),
        peak=clip.peak + gain_db,
        parameters={
            "target": target,
            "gain_db": round(gain_db, 4),
            "limited_db": round(TARGET_LUFS - target, 2),
            "true_peak_limit": TRUE_PEAK_DBTP,
            "from": clip.sha256,
        },
    )


class Filled(NamedTuple):
    """What filling in did for one dialogue; ``reason`` says why it could not."""

    dialogue: Dialogue
    copies: int
    measured: int
    reason: str


def corpus_match(*, corpus: Corpus | None = None) -> Iterator[Filled]:
    """Make the copies, and take the measures, that older clips lack: dialogue by dialogue, of one corpus or of all.

    Stopped anywhere, the next call goes on with what is still missing. Side effects: those of ``clips_match``; the RMS of
    clips that have none is filled in.
    """
    without = Clip.objects.filter(loudness__isnull=False).exclude(renditions__kind=Rendition.Kind.MATCHED)
    lacking = Clip.objects.filter(Q(pk__in=without.values("pk")) | Q(rms=None))
    found = Dialogue.objects.filter(turns__variants__clip__in=lacking.values("pk")).distinct().order_by("pk")
    for pk in list((found.filter(corpus=corpus) if corpus else found).values_list("pk", flat=True)):
        yield _fill(Dialogue.objects.get(pk=pk))


def _fill(dialogue: Dialogue) -> Filled:
    before, measured, reason = _copies(dialogue), 0, ""
    try:
        for clip in Clip.objects.filter(variants__turn__dialogue=dialogue, rms=None).distinct():
            decoded = _decoded(clip)
            # Clips are facts and stay as they are; this fills in a measure that older rows lack.
            measured += QuerySet(Clip).filter(pk=clip.pk, rms=None).update(rms=level(decoded.samples))
        dialogue_match(dialogue=dialogue)
    except FileNotFoundError:
        reason = "The sound of a clip is gone from the storage."
    except StudioError as error:
        reason = error.message
    return Filled(dialogue, _copies(dialogue) - before, measured, reason)


def _copies(dialogue: Dialogue) -> int:
    return (
        Rendition.objects.filter(clip__variants__turn__dialogue=dialogue, kind=Rendition.Kind.MATCHED)
        .distinct()
        .count()
    )
