"""Dialogues as a run asks them: what is asked next about each, from what was answered so far. Read many at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from eqstudio.benchmarks.base import Answered, Parsed, Trial
from eqstudio.blobs import blob_read
from eqstudio.errors import GiveUp, InvalidInput, ProviderError
from evaluation.backends.base import ClipAudio, Clips
from evaluation.models import RunItem, Sitting, TrialRecord
from evaluation.selectors.elsewhere import swaps_of
from evaluation.services.scoring import response_parsed, response_score
from evaluation.services.sittings import trial_build
from generation.media import clip_served
from generation.models import Dialogue, Rendition, Variant
from generation.selectors import WholeItem, items_whole

SOUND_MISSING = "sound missing"


@dataclass(frozen=True)
class Kept:
    """A question that was answered before, as it was shown then."""

    record: int
    trial: Trial
    parsed: Parsed


@dataclass(eq=False)
class Case:
    """One leased dialogue. ``pending`` is what is asked now; None when it is through."""

    item: RunItem
    sitting: Sitting
    whole: WholeItem
    elsewhere: Mapping[str, Variant]
    """Sounds of other items by variant, for an evaluator that plays those."""
    kept: dict[str, Kept] = field(default_factory=dict)
    takes: dict[str, int] = field(default_factory=dict)
    """By question: how often it was asked and taken back."""
    blank: dict[str, int] = field(default_factory=dict)
    """Records of questions that were shown and never answered."""
    answered: list[Answered] = field(default_factory=list)
    stale: list[int] = field(default_factory=list)
    """Records whose question would read differently now, because an earlier one is asked anew."""
    pending: Trial | None = None

    @property
    def dialogue(self) -> Dialogue:
        return self.whole.dialogue

    def advance(self) -> Trial | None:
        """Walk on over what was answered before, to the next question that was not."""
        while True:
            self.pending = trial_build(
                sitting=self.sitting, dialogue=self.dialogue, answered=self.answered, item=self.whole.view
            )
            kept = self.kept.pop(self.pending.key, None) if self.pending else None
            if self.pending is None or kept is None:
                return self.pending
            if self.takes and kept.trial != self.pending:
                self.stale.append(kept.record)
                self.takes[self.pending.key] = self.takes.get(self.pending.key, 0) + 1
                return self.pending
            self.answered.append(Answered(trial=kept.trial, parsed=kept.parsed))

    def take_in(self, parsed: Parsed) -> None:
        """Count the pending question as answered; what failed before was about it."""
        if self.pending is not None:
            self.answered.append(Answered(trial=self.pending, parsed=parsed))
        self.pending = None
        self.item.tries, self.item.first_try = 0, None

    @property
    def clips(self) -> Clips:
        """The sounds of the pending question, for whoever answers it; no database is asked from here on."""
        return partial(_clip, self.whole, self.elsewhere, self.pending.key if self.pending else "")


def cases_read(*, sitting: Sitting, items: Iterable[RunItem], elsewhere: bool = False) -> list[Case]:
    """The leased dialogues with what was answered so far, walked to their next question; a constant number of queries, or
    four more a dialogue with ``elsewhere``, for an evaluator that plays sounds of other items.

    Scores what a kill left unscored.
    """
    rows = list(items)
    whole = items_whole(ids=[row.dialogue_id for row in rows])
    cases = {
        row.dialogue_id: Case(row, sitting, whole[row.dialogue_id], _swaps(sitting, whole[row.dialogue_id], elsewhere))
        for row in rows
    }
    _history_read(sitting, cases)
    for case in cases.values():
        case.advance()
    return list(cases.values())


def _swaps(sitting: Sitting, whole: WholeItem, elsewhere: bool) -> Mapping[str, Variant]:  # noqa: FBT001 -- as the backend says
    if not elsewhere:
        return {}
    swaps = swaps_of(study=sitting.respondent.study, dialogue=whole.dialogue)
    dialogues = Dialogue.objects.in_bulk({other.turn.dialogue_id for other in swaps.values()})
    for other in swaps.values():
        other.turn.dialogue = dialogues[
            other.turn.dialogue_id
        ]  # named where a sound is missing, in a thread without a database
    return swaps


def _history_read(sitting: Sitting, cases: dict[int, Case]) -> None:
    records = (
        TrialRecord.objects.filter(sitting=sitting, dialogue__in=list(cases))
        .select_related("retake")
        .prefetch_related("responses__scores")
        .order_by("pk")
    )
    for record in records:
        case = cases[record.dialogue_id]
        if hasattr(record, "retake"):
            case.takes[record.key] = record.take + 1
            continue
        record.sitting, record.dialogue = sitting, case.dialogue
        if not record.responses.all():
            case.blank[record.key] = record.pk
        for response in record.responses.all():
            if not response.scores.all():
                response.trial = record
                response_score(response=response)
                response = type(response).objects.prefetch_related("scores").get(pk=response.pk)  # noqa: PLW2901
            response.trial = record
            parsed = response_parsed(response=response)
            case.kept[record.key] = Kept(record.pk, Trial.from_dict(record.shown), parsed)


def _clip(whole: WholeItem, elsewhere: Mapping[str, Variant], key: str, uid: str) -> ClipAudio:
    variant, other = whole.variants[uid], elsewhere.get(uid)
    copies = whole.copies.get(variant.clip_id, ()) if variant.clip_id else ()
    found = _audio(variant, key, copies)
    return found if other is None else replace(found, other=partial(_audio, other, key, None))


def _audio(variant: Variant, key: str, copies: Iterable[Rendition] | None) -> ClipAudio:
    audio = variant.clip
    if audio is None:
        raise InvalidInput(f"A clip of the question {key} is missing.")
    served = clip_served(clip=audio, renditions=copies)
    return ClipAudio(
        variant=variant.uid,
        text=variant.text,
        media_type=served.media_type,
        duration=audio.duration,
        loudness=audio.loudness,
        pitch=audio.pitch,
        read=partial(_sound, variant, served.sha256),
    )


def _sound(variant: Variant, sha256: str) -> bytes:
    """The bytes of a clip; where they are gone the run stops until they are brought back."""
    try:
        return blob_read(sha256)
    except FileNotFoundError as error:
        dialogue = variant.turn.dialogue
        raise ProviderError(
            f"The sound of line {variant.turn.position} of {dialogue} (dialogue {dialogue.uid}) is missing from the store.",
            cause=SOUND_MISSING,
            decision=GiveUp(),
        ) from error
