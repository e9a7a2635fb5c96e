"""The one writer of where a person stands in a round."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.domain.quality import QualityRules
from annotation.models import Participation, Round
from eqstudio.errors import Conflict, IllegalMove
from eqstudio.events import event_record
from eqstudio.models import User

State = Participation.State

MOVES: dict[str, frozenset[str]] = {
    State.INVITED.value: frozenset({State.TRAINING, State.QUALIFYING, State.ACTIVE, State.PAUSED}),
    State.TRAINING.value: frozenset({State.QUALIFYING, State.ACTIVE, State.PAUSED, State.NOT_QUALIFIED}),
    State.QUALIFYING.value: frozenset({State.ACTIVE, State.PAUSED, State.NOT_QUALIFIED}),
    State.ACTIVE.value: frozenset({State.PAUSED}),
    State.PAUSED.value: frozenset({State.INVITED, State.TRAINING, State.QUALIFYING, State.ACTIVE, State.NOT_QUALIFIED}),
    State.NOT_QUALIFIED.value: frozenset({State.ACTIVE, State.PAUSED}),
}
VERBS = {
    State.INVITED.value: "invited to the round",
    State.TRAINING.value: "began training",
    State.QUALIFYING.value: "began qualification",
    State.ACTIVE.value: "became active",
    State.PAUSED.value: "paused in the round",
    State.NOT_QUALIFIED.value: "did not qualify",
}


def first_state(rules: QualityRules) -> State:
    """Where a person begins who may take part."""
    return State.TRAINING if rules.training else after_training(rules)


def after_training(rules: QualityRules) -> State:
    return State.QUALIFYING if rules.qualification_pass > 0 else State.ACTIVE


@transaction.atomic
def participation_move(
    *,
    participation: Participation,
    to: State,
    actor: User | None,
    reason: str = "",
    evidence: dict[str, Any] | None = None,
    note: str | None = None,
) -> Participation:
    """Move a person from the state this row was read in, and write one Event.

    IllegalMove when the table does not allow it, Conflict when somebody moved them first. ``note`` None keeps the note.
    """
    before = participation.state
    if to.value not in MOVES[before]:
        raise IllegalMove(
            _("This person is %(before)s in the round and cannot become %(after)s.")
            % {"before": State(before).label, "after": to.label}
        )
    changes: dict[str, Any] = {"state": to.value, "reason": reason, "evidence": evidence or {}}
    if note is not None:
        changes["note"] = note
    if not Participation.objects.filter(pk=participation.pk, state=before).update(**changes):
        raise Conflict(
            _("Somebody changed where this person stands at the same moment. Look again; nothing was changed.")
        )
    for name, value in changes.items():
        setattr(participation, name, value)
    event_record(
        actor=actor,
        verb=VERBS[to.value],
        entity=participation,
        round=participation.round.name,
        person=participation.annotator.uid,
        before=before,
        reason=reason,
        note=note or "",
    )
    return participation


def participation_add(*, round: Round, annotator: User, state: State, actor: User | None) -> Participation:  # noqa: A002
    """The person's row in the round, made in ``state`` with one Event, or the one that is there."""
    found, made = Participation.objects.get_or_create(round=round, annotator=annotator, defaults={"state": state.value})
    found.round, found.annotator = round, annotator
    if made and actor is not None:
        event_record(actor=actor, verb=VERBS[state.value], entity=found, round=round.name, person=annotator.uid)
    return found
