"""The only writer of ``Dialogue.state``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from eqstudio.errors import Conflict
from eqstudio.events import event_record, events_record
from eqstudio.models import User
from eqstudio.prepared import PreparedUpdate
from generation.domain.lifecycle import DialogueState, move_check
from generation.models import Dialogue

_MOVED_AT_ONCE = 500


def _moving(*names: str) -> PreparedUpdate:
    """The move of a dialogue that is still ``before``, with fresh values for the columns ``names``."""

    def build(**given: Any) -> tuple[QuerySet[Dialogue], dict[str, Any]]:
        still = Dialogue.objects.filter(pk=given["dialogue"], state=given["before"])
        return still, {name: given[f"new_{name}"] for name in names}

    return PreparedUpdate(build, names=["dialogue", "before", *(f"new_{name}" for name in names)])


_FRESH = ("state", "updated", "attempts", "stops", "lease_until", "lease_owner")
_MOVE = {True: _moving(*_FRESH, "error", "error_cause"), False: _moving(*_FRESH)}
"""With and without what went wrong."""


@transaction.atomic
def dialogue_move(*, dialogue: Dialogue, to: DialogueState, actor: User | None = None, reason: str = "") -> Dialogue:
    """Move a dialogue to another state, if the table allows it and nobody moved it first.

    Writes the row (state, and a fresh count of attempts and stops without a lease) and one Event; refreshes ``dialogue``.
    Leaving FAILED clears what went wrong. Raises IllegalMove or Conflict and then changes nothing.
    """
    before, after = DialogueState(dialogue.state), DialogueState(to)
    move_check(before, after)
    fresh: dict[str, Any] = {"state": after.value, "updated": timezone.now()}
    fresh |= {"attempts": 0, "stops": 0, "lease_until": None, "lease_owner": ""}
    if after is not DialogueState.FAILED:
        fresh |= {"error": "", "error_cause": ""}
    given = {f"new_{name}": value for name, value in fresh.items()}
    if not _MOVE["error" in fresh].run(dialogue=dialogue.pk, before=before.value, **given):
        raise Conflict(
            f"The dialogue is no longer {before}: somebody else moved it first. Nothing was changed; look again."
        )
    for name, value in fresh.items():
        setattr(dialogue, name, value)
    event_record(actor=actor, verb="moved", entity=dialogue, before=before.value, after=after.value, reason=reason)
    return dialogue


@transaction.atomic
def dialogues_move(
    *, keys: Sequence[int], before: DialogueState, to: DialogueState, actor: User | None = None, reason: str = ""
) -> int:
    """Move those of many dialogues that are ``before`` to another state, and say how many they were.

    One conditional UPDATE per 500; one Event per dialogue that moved, as ``dialogue_move`` writes it.
    """
    move_check(before, to)
    moved = 0
    fresh = {"state": to.value, "attempts": 0, "lease_until": None, "lease_owner": "", "updated": timezone.now()}
    for start in range(0, len(keys), _MOVED_AT_ONCE):
        chunk = Dialogue.objects.filter(pk__in=keys[start : start + _MOVED_AT_ONCE], state=before.value)
        rows = list(chunk.select_for_update().values_list("pk", "uid"))
        Dialogue.objects.filter(pk__in=[key for key, _uid in rows]).update(**fresh)
        detail = {"before": before.value, "after": to.value, "reason": reason}
        events_record(actor=actor, verb="moved", entity="dialogue", uids=[uid for _key, uid in rows], detail=detail)
        moved += len(rows)
    return moved
