"""What is said in a dialogue, as far as a listener meets it."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import OuterRef, Subquery, prefetch_related_objects

from annotation.models import GuidelineExample, Round
from eqstudio.prepared import Prepared
from generation.models import Dialogue, Rendition, Turn


class Sound(NamedTuple):
    """A clip: seconds, waveform, and how many dB the copy that is heard is louder than the clip itself."""

    uid: str
    duration: float
    peaks: list[float]
    gain_db: float


class SpokenVariant(NamedTuple):
    uid: str
    text: str
    sound: Sound | None


class SpokenTurn(NamedTuple):
    """A turn; ``variants`` in the order of their rows."""

    position: int
    role: str
    speaker: str
    variants: list[SpokenVariant]


def _said(dialogue: Any) -> Any:
    matched = Rendition.objects.filter(clip_id=OuterRef("variants__clip_id"), kind=Rendition.Kind.MATCHED)
    turns = Turn.objects.filter(dialogue_id=dialogue).annotate(level=Subquery(matched.values("parameters")[:1]))
    return turns.order_by("position", "pk", "variants__pk").values_list(
        *("pk", "position", "role", "speaker", "speaker_name", "variants__uid", "variants__text"),
        *("variants__clip__uid", "variants__clip__duration", "variants__clip__peaks", "level"),
    )


_SAID = Prepared[tuple[Any, ...]](_said)


def spoken_turns(*, dialogue: Dialogue) -> list[SpokenTurn]:
    """The turns of a dialogue in order, with what is heard in each. One query; none for the same object again."""
    kept: list[SpokenTurn] | None = dialogue.__dict__.get("spoken_turns")
    if kept is None:
        kept = dialogue.__dict__["spoken_turns"] = _read(dialogue)
    return kept


def _read(dialogue: Dialogue) -> list[SpokenTurn]:
    turns: dict[int, SpokenTurn] = {}
    for pk, position, role, speaker, name, uid, text, clip, duration, peaks, level in _SAID.rows(dialogue=dialogue.pk):
        turn = turns.setdefault(pk, SpokenTurn(position, role, name or speaker, []))
        if uid is not None:
            sound = None if clip is None else Sound(clip, duration, peaks, (level or {}).get("gain_db", 0.0))
            turn.variants.append(SpokenVariant(uid, text, sound))
    return list(turns.values())


_EXAMPLES = Prepared[GuidelineExample](
    lambda within: (
        GuidelineExample.objects.filter(round_id=within)
        .select_related("variant__clip", "variant__turn__dialogue")
        .only(
            *("uid", "round", "grade", "why", "variant__text", "variant__clip__uid", "variant__clip__duration"),
            *("variant__clip__peaks", "variant__turn__dialogue__language"),
        )
    )
)


def worked_examples(*, round: Round) -> list[GuidelineExample]:  # noqa: A002 -- the word of the domain
    """The examples of a round's guidelines in order, with the clips that are heard. One query, one more if there are any,
    and none for a round that was read with ``exampled`` and has none.
    """
    if not getattr(round, "exampled", True):
        return []
    found = _EXAMPLES.rows(within=round.pk)
    prefetch_related_objects(found, "variant__clip__renditions")
    return found
