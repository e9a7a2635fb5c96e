"""What a researcher decides about a dialogue that the checks flagged."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict, IllegalMove, InvalidInput
from eqstudio.models import Event, User
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus, Dialogue, Take, Variant
from generation.services.lifecycle import dialogue_move, dialogues_move

MADE_AGAIN = frozenset({DialogueState.BRIEFED, DialogueState.SCRIPTED})
AS_IT_IS = (DialogueState.READY, DialogueState.REJECTED)
_JUDGED = DialogueState.IN_REVIEW.value


@transaction.atomic
def dialogue_settle(*, dialogue: Dialogue, to: DialogueState, reason: str, actor: User | None = None) -> Dialogue:
    """Move a FLAGGED dialogue on: to READY or REJECTED as it is, or back to be spoken (SCRIPTED) or written (BRIEFED) again.

    Made again, it loses its clips or its script and its next take has another seed; its earlier clips, their findings and
    what was paid for are kept. Writes the move's Event with ``reason``. InvalidInput for an imported dialogue that is to be made again.
    """
    if dialogue.state != DialogueState.FLAGGED:
        raise IllegalMove(_("Only a flagged dialogue is decided on here. Nothing was changed."))
    if to in MADE_AGAIN:
        if not dialogue.is_made_here:
            raise InvalidInput(
                _("This dialogue came from elsewhere and cannot be made again. Keep it or reject it."), field="to"
            )
        if judged(dialogue):
            raise Conflict(
                _("People have judged this dialogue as it is, so it cannot be made again. Keep it or reject it.")
            )
        _takes_keep(dialogue)
        dialogue.takes += 1
        dialogue.save(update_fields=["takes", "updated"])
        Variant.objects.filter(turn__dialogue=dialogue).update(clip=None)
    return dialogue_move(dialogue=dialogue, to=to, actor=actor, reason=reason)


def dialogue_settled_as(*, dialogue: Dialogue) -> list[DialogueState]:
    """What may become of a flagged dialogue: it is made again only if it was made here and nobody has judged it."""
    again = [DialogueState.SCRIPTED, DialogueState.BRIEFED] if dialogue.is_made_here and not judged(dialogue) else []
    return [DialogueState.READY, *again, DialogueState.REJECTED]


@transaction.atomic
def dialogues_settle(
    *, corpus: Corpus, uids: Sequence[str], to: DialogueState, reason: str, actor: User | None = None
) -> int:
    """Let many FLAGGED dialogues of a corpus pass (READY) or reject them, all for one reason. Returns how many were moved.

    What is not flagged any more, or of another corpus, is left as it is. One Event per dialogue. InvalidInput when nothing is
    chosen, or when they are to become something else.
    """
    if to not in AS_IT_IS:
        raise InvalidInput(
            _("Several dialogues at once can only be let pass or rejected. Nothing was changed."), field="to"
        )
    if not uids:
        raise InvalidInput(_("No dialogue is chosen. Tick those that this is about."))
    found = corpus.dialogues.filter(uid__in=uids, state=DialogueState.FLAGGED.value)
    keys = list(found.order_by("pk").values_list("pk", flat=True))
    return dialogues_move(keys=keys, before=DialogueState.FLAGGED, to=to, actor=actor, reason=reason)


def judged(dialogue: Dialogue) -> bool:
    """Whether people have been asked about this dialogue, ever."""
    moved = Event.objects.filter(entity="dialogue", entity_uid=dialogue.uid, verb="moved", detail__after=_JUDGED)
    return moved.exists()


def _takes_keep(dialogue: Dialogue) -> None:
    run = dialogue.findings.aggregate(last=Max("run"))["last"] or 0
    voiced = Variant.objects.filter(turn__dialogue=dialogue, clip__isnull=False).select_related("turn", "clip")
    Take.objects.bulk_create(
        Take(
            dialogue=dialogue,
            variant=variant,
            number=dialogue.takes,
            run=run,
            position=variant.turn.position,
            label=variant.label,
            text=variant.text,
            clip=variant.clip,
        )
        for variant in voiced
        if variant.clip is not None
    )
