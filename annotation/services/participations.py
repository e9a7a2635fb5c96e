"""Who takes part in a round: people come in, are invited, paused, let back in and taken out here."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Judgement, Participation, Round
from annotation.selectors.quality import rules_of
from annotation.selectors.queue import participation_find
from annotation.services.participation_moves import first_state, participation_add, participation_move
from annotation.services.quality import judgement_checked
from annotation.services.specials import special_next
from eqstudio.access import can_annotate
from eqstudio.errors import InvalidInput
from eqstudio.models import User

__all__ = [
    "judgement_checked",
    "participation_get",
    "participation_invite",
    "participation_pause",
    "participation_remove",
    "participation_resume",
    "special_next",
]
State = Participation.State
NOT_INVITED = "invitation"
BY_RESEARCHER = "researcher"
REMOVED = "removed"
NOTE_LIMIT = 2_000


def participation_get(*, round: Round, annotator: User) -> Participation:  # noqa: A002 -- the word of the domain
    """The person's place in the round, made on first use; an invited person goes on to their first state.

    In a round by invitation a person who was not invited gets a row that is not stored: not qualified, for that reason.
    """
    found = participation_find(round=round, annotator=annotator)
    rules = rules_of(round)
    if found is None:
        if round.invited_only:
            return Participation(round=round, annotator=annotator, state=State.NOT_QUALIFIED.value, reason=NOT_INVITED)
        return participation_add(round=round, annotator=annotator, state=first_state(rules), actor=None)
    found.round, found.annotator = round, annotator
    if found.state == State.INVITED:
        participation_move(participation=found, to=first_state(rules), actor=annotator)
    return found


@transaction.atomic
def participation_invite(*, round: Round, annotator: User, actor: User) -> Participation:  # noqa: A002
    """Invite a person, with one Event; somebody who was taken out is let back in. Inviting twice changes nothing.

    InvalidInput when the person is no annotator or their account is off.
    """
    if not can_annotate(annotator):
        raise InvalidInput(
            _("%(person)s is not an annotator, or the account is switched off, so they cannot be invited.")
            % {"person": annotator},
            field="person",
        )
    found = participation_add(round=round, annotator=annotator, state=State.INVITED, actor=actor)
    if found.state == State.PAUSED and found.reason == REMOVED:
        participation_resume(participation=found, actor=actor, note="")
    return found


def participation_pause(*, participation: Participation, actor: User, note: str) -> Participation:
    """A researcher pauses a person with a note that the person reads. What they hold can still be submitted."""
    return _stop(participation, actor=actor, reason=BY_RESEARCHER, note=note)


def participation_remove(*, participation: Participation, actor: User, note: str) -> Participation:
    """Take a person out of the round, with a note or a plain one. Their judgements stay, and they can be invited again."""
    return _stop(
        participation, actor=actor, reason=REMOVED, note=note.strip() or _("You were taken out of this round.")
    )


@transaction.atomic
def _stop(participation: Participation, *, actor: User, reason: str, note: str) -> Participation:
    note = note.strip()[:NOTE_LIMIT]
    if not note:
        raise InvalidInput(_("Say why: the person reads it."), field="note")
    evidence = {**_kept(participation), "before": _before(participation)}
    if participation.state == State.PAUSED:
        participation_move(participation=participation, to=State(_before(participation)), actor=actor)
    return participation_move(
        participation=participation, to=State.PAUSED, actor=actor, reason=reason, evidence=evidence, note=note
    )


@transaction.atomic
def participation_resume(*, participation: Participation, actor: User, note: str) -> Participation:
    """After a look at what happened let a person go on where they were; somebody who did not qualify becomes active.

    Gold and flags from before no longer count towards a pause.
    """
    last = Judgement.objects.filter(item__round_id=participation.round_id, annotator_id=participation.annotator_id)
    newest = last.order_by("-pk").values_list("pk", flat=True).first() or 0
    to = State.ACTIVE if participation.state == State.NOT_QUALIFIED else State(_before(participation))
    if to == State.NOT_QUALIFIED:
        to = State.ACTIVE
    return participation_move(
        participation=participation,
        to=to,
        actor=actor,
        evidence={"counted_from": newest},
        note=note.strip()[:NOTE_LIMIT],
    )


def _before(participation: Participation) -> str:
    """Where the person was before the pause."""
    if participation.state == State.PAUSED:
        return str(participation.evidence.get("before", State.ACTIVE.value))
    return participation.state


def _kept(participation: Participation) -> dict[str, Any]:
    return {name: participation.evidence[name] for name in ("counted_from",) if name in participation.evidence}
