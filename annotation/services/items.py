"""An item of a round is closed by consensus or decided by an expert here."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.domain.consensus import k_of_n
from annotation.models import Adjudication, Assignment, Judgement, Kind, RoundItem
from annotation.selectors.judgements import live_judgements
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.models import Dialogue
from generation.services import dialogue_move

Outcome = RoundItem.Outcome
STATES = {
    Outcome.KEPT: DialogueState.KEPT,
    Outcome.REJECTED: DialogueState.REJECTED,
    Outcome.DISPUTED: DialogueState.DISPUTED,
}
_BY_VERDICT = {Judgement.Verdict.KEEP.value: Outcome.KEPT, Judgement.Verdict.REJECT.value: Outcome.REJECTED}


@transaction.atomic
def item_close(*, item: RoundItem, now: datetime) -> RoundItem:
    """Close an item once as many people as asked for have judged it: k of n votes decide, else it is disputed.

    Moves its dialogue and writes one Event. Does nothing when judgements are missing or the item is closed already.
    """
    held = item.assignments.filter(kind=Kind.WORK, state=Assignment.State.SUBMITTED).count()
    if held < item.wanted:
        return item
    votes = list(live_judgements(item=item).values_list("verdict", flat=True))
    decided = k_of_n(votes, needed=item.round.agree_needed)
    outcome = Outcome.DISPUTED if decided is None else _BY_VERDICT[decided]
    if RoundItem.objects.filter(pk=item.pk, closed_at=None).update(closed_at=now, outcome=outcome.value):
        dialogue = Dialogue.objects.get(pk=item.dialogue_id)
        dialogue_move(dialogue=dialogue, to=STATES[outcome], reason=f"round {item.round.name}")
        event_record(actor=None, verb="closed", entity=item, outcome=outcome.value, votes=sorted(votes))
    item.refresh_from_db(fields=["closed_at", "outcome"])
    return item


@transaction.atomic
def item_set_aside(*, item: RoundItem, reason: str, now: datetime) -> RoundItem:
    """Close an item that people say cannot be judged as disputed, its dialogue too, for an expert to decide. One Event."""
    if RoundItem.objects.filter(pk=item.pk, closed_at=None).update(closed_at=now, outcome=Outcome.DISPUTED.value):
        dialogue = Dialogue.objects.get(pk=item.dialogue_id)
        dialogue_move(dialogue=dialogue, to=DialogueState.DISPUTED, reason=reason)
        event_record(actor=None, verb="set aside", entity=item, reason=reason)
    item.refresh_from_db(fields=["closed_at", "outcome"])
    return item


@transaction.atomic
def item_reopen(*, item: RoundItem, actor: User | None, reason: str) -> RoundItem:
    """Open a closed item again, its dialogue back in review, with one Event; an open one stays as it is.

    Conflict when an expert has decided it or when it is part of a frozen split.
    """
    dialogue = Dialogue.objects.get(pk=item.dialogue_id)
    if dialogue.state == DialogueState.FROZEN.value:
        raise Conflict(_("This item is part of a frozen split, so its judgements can no longer change."))
    if item.adjudications.exists():
        raise Conflict(_("An expert has decided this item, so its judgements can no longer change."))
    if RoundItem.objects.filter(pk=item.pk, closed_at__isnull=False).update(closed_at=None, outcome=""):
        dialogue_move(dialogue=dialogue, to=DialogueState.IN_REVIEW, actor=actor, reason=reason)
        event_record(actor=actor, verb="reopened", entity=item, reason=reason)
    item.refresh_from_db(fields=["closed_at", "outcome"])
    return item


@transaction.atomic
def item_adjudicate(*, item: RoundItem, verdict: str, reason: str, actor: User) -> Adjudication:
    """Record an expert's decision on a closed item, set its outcome, move its dialogue, and write one Event.

    Only once all judgements are in (Conflict), with a reason (InvalidInput); the latest decision counts. The judgements
    stay as they are, under their authors.
    """
    if verdict not in Judgement.Verdict.values:
        raise InvalidInput(_("Decide keep or reject."), field="verdict")
    if not reason.strip():
        raise InvalidInput(_("Say why: the reason is kept with the decision."), field="reason")
    item = RoundItem.objects.select_for_update().select_related("round").get(pk=item.pk)
    if item.closed_at is None:
        raise Conflict(_("Not everybody has judged this item yet, so there is nothing to decide."))
    dialogue = Dialogue.objects.get(pk=item.dialogue_id)
    if dialogue.state == DialogueState.FROZEN.value:
        raise Conflict(_("This item is part of a frozen split, so its outcome can no longer change."))
    decision = Adjudication.objects.create(item=item, decided_by=actor, verdict=verdict, reason=reason.strip())
    outcome = _BY_VERDICT[verdict]
    RoundItem.objects.filter(pk=item.pk).update(outcome=outcome.value)
    if dialogue.state != STATES[outcome].value:
        if dialogue.state != DialogueState.DISPUTED.value:
            dialogue_move(dialogue=dialogue, to=DialogueState.DISPUTED, actor=actor, reason="adjudication")
        dialogue_move(dialogue=dialogue, to=STATES[outcome], actor=actor, reason="adjudication")
    event_record(actor=actor, verb="adjudicated", entity=item, verdict=verdict, reason=reason.strip())
    return decision
