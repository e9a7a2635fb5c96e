"""What came from elsewhere is held against what a transcriber hears: as jobs of a batch, like what is made here."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, IllegalMove, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.intake import clip_measures
from generation.models import Batch, Brief, Dialogue, Variant
from generation.providers import transcribers
from generation.services.checking import qc_imported
from generation.services.flagged import judged
from generation.services.lifecycle import dialogue_move

LONGEST = 10_000
"""Characters that the words of one recording may have."""


@transaction.atomic
def hearing_ask(*, dialogue: Dialogue, transcriber: str) -> Dialogue:
    """Have a VOICED dialogue from elsewhere transcribed and checked: the sweep finds it due.

    Side effects: its brief, which names the transcriber; at the first of its kind the brief itself, and a batch of the corpus
    for everything that this transcriber hears. UnknownAlias for an unknown transcriber.
    """
    transcribers.get(transcriber)
    kind = {
        "benchmark": dialogue.benchmark,
        "category": dialogue.category,
        "language": dialogue.language,
        "text_provider": "",
        "voice_provider": "",
        "transcriber": transcriber,
    }
    going = {"batch__corpus": dialogue.corpus, "batch__cancelled_at": None}
    brief = Brief.objects.filter(**kind, **going).order_by("pk").first()
    if brief is None:
        brief = Brief.objects.create(batch=_batch(dialogue, transcriber), **kind)
    else:
        Brief.objects.filter(pk=brief.pk).update(count=F("count") + 1)
        brief.refresh_from_db(fields=["count"])
    dialogue.brief, dialogue.ordinal = brief, brief.count - 1
    dialogue.save(update_fields=["brief", "ordinal", "updated"])
    return dialogue


def _batch(dialogue: Dialogue, transcriber: str) -> Batch:
    """The batch of this corpus that this transcriber already works on, or a new one with its Event."""
    same = Batch.objects.filter(
        corpus=dialogue.corpus, cancelled_at=None, briefs__text_provider="", briefs__transcriber=transcriber
    )
    found = same.order_by("pk").first()
    if found is None:
        found = Batch.objects.create(corpus=dialogue.corpus)
        event_record(actor=None, verb="created", entity=found, corpus=dialogue.corpus.name, transcriber=transcriber)
    return found


@transaction.atomic
def transcript_correct(
    *, dialogue: Dialogue, texts: Mapping[str, str], transcriber: str = "", actor: User | None = None
) -> Dialogue:
    """Write down what is said in the recordings of a dialogue from elsewhere, and have it checked again.

    ``texts`` are the words by the public ids of renditions. With a ``transcriber`` the dialogue waits for it (VOICED);
    without one it is measured here and now and becomes READY or FLAGGED. Side effects: the texts, one Event with what they
    were, the findings of a new check. IllegalMove unless it is READY or FLAGGED, Conflict once people have judged it,
    InvalidInput for a dialogue made here, or words that are missing or too long.
    """
    if dialogue.is_made_here:
        raise InvalidInput(_("This dialogue was written here: its words are what was to be said."), field="texts")
    if dialogue.state not in {DialogueState.READY, DialogueState.FLAGGED}:
        raise IllegalMove(_("Its words can be put right while it is ready or flagged. Nothing was changed."))
    if judged(dialogue):
        raise Conflict(_("People have judged this dialogue as it is, so its words stay. Nothing was changed."))
    changed = _texts_write(dialogue, texts)
    event_record(actor=actor, verb="transcript put right", entity=dialogue, before=changed)
    dialogue_move(dialogue=dialogue, to=DialogueState.VOICED, actor=actor, reason="transcript")
    if transcriber:
        same = dialogue.brief is not None and dialogue.brief.transcriber == transcriber
        going = same and dialogue.brief is not None and dialogue.brief.batch.cancelled_at is None
        return dialogue if going else hearing_ask(dialogue=dialogue, transcriber=transcriber)
    clips = {
        variant.clip_id: variant.clip
        for variant in Variant.objects.filter(turn__dialogue=dialogue).select_related("clip")
        if variant.clip is not None
    }
    try:
        measures = {pk: clip_measures(clip=clip) for pk, clip in clips.items()}
    except FileNotFoundError as error:
        raise Conflict(
            _("The sound of a recording is gone from the storage. Nothing was changed; bring the file back first.")
        ) from error
    return qc_imported(dialogue=dialogue, measures=measures)


def _texts_write(dialogue: Dialogue, texts: Mapping[str, str]) -> dict[str, str]:
    """Write what differs; the words as they were, by public id. InvalidInput when a rendition is left without words."""
    before = {}
    for variant in Variant.objects.filter(turn__dialogue=dialogue):
        words = " ".join(texts.get(variant.uid, variant.text).split())
        if not words:
            raise InvalidInput(_("Write down what is said in every recording. Nothing was changed."), field="texts")
        if len(words) > LONGEST:
            raise InvalidInput(
                _("A recording has at most %(most)d characters. Nothing was changed.") % {"most": LONGEST},
                field="texts",
            )
        if words != variant.text:
            before[variant.uid] = variant.text
            variant.text = words
            variant.save(update_fields=["text"])
    return before
