"""A person leaves a study: their answers leave every later figure, and what was known of them is deleted."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.models import Participant, PersonalDetails, Sitting
from evaluation.services.participants import outcome_set


@transaction.atomic
def participant_withdraw(*, participant: Participant, reason: str, actor: User | None = None) -> bool:
    """Mark the person as withdrawn, delete their row of the guarded table, stop their open sitting. Writes one Event.

    The answers stay stored and enter no figure, export or release from now on; the row stays, without language or anything said
    of the person. The keyed hash stays too, so that nobody who withdrew is taken in again by mistake. False when they had
    withdrawn before.
    """
    moved = Participant.objects.filter(pk=participant.pk, withdrawn_at=None).update(
        withdrawn_at=timezone.now(), language=""
    )
    participant.refresh_from_db()
    if not moved:
        return False
    PersonalDetails.objects.filter(participant=participant).delete()
    Sitting.objects.filter(respondent=participant.respondent, state=Sitting.State.OPEN).update(
        state=Sitting.State.CANCELLED
    )
    outcome_set(participant=participant, outcome=Participant.Outcome.WITHDRAWN, reason=reason)
    event_record(actor=actor, verb="participant_withdraw", entity=participant, reason=reason)
    return True
