"""Many items of a round closed or opened again at once, a few statements for every 500."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Greatest

from annotation.models import Assignment, Kind, Round, RoundItem
from eqstudio.events import events_record
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.services import dialogues_move

CHUNK = 500
_PEOPLE = Subquery(Round.objects.filter(pk=OuterRef("round")).values("people_per_item"))
_SUBMITTED = Coalesce(
    Subquery(
        Assignment.objects.filter(item=OuterRef("pk"), kind=Kind.WORK, state=Assignment.State.SUBMITTED)
        .order_by()
        .values("item")
        .annotate(n=Count("pk"))
        .values("n")
    ),
    0,
)


@transaction.atomic
def items_set_aside(*, items: QuerySet[RoundItem], reason: str, now: datetime) -> int:
    """Send open items to an expert although judgements are missing, as ``item_set_aside`` does one; how many they were.

    Closes them as disputed, moves those of their dialogues that are in review, and writes one Event for each item.
    """
    done = 0
    for pks in pages_of(items):
        rows = list(
            RoundItem.objects.filter(pk__in=pks, closed_at=None)
            .select_for_update(of=("self",))
            .values_list("pk", "uid", "dialogue_id")
        )
        RoundItem.objects.filter(pk__in=[pk for pk, *_rest in rows]).update(
            closed_at=now, outcome=RoundItem.Outcome.DISPUTED.value
        )
        dialogues_move(
            keys=[dialogue for *_rest, dialogue in rows],
            before=DialogueState.IN_REVIEW,
            to=DialogueState.DISPUTED,
            reason="set aside",
        )
        events_record(
            actor=None, verb="set aside", entity="rounditem", uids=[row[1] for row in rows], detail={"reason": reason}
        )
        done += len(rows)
    return done


@transaction.atomic
def items_take_back(*, items: QuerySet[RoundItem], actor: User | None, reason: str) -> int:
    """Open closed items that no expert has decided again, as ``item_reopen`` does one; how many they were.

    They ask for as many people as the round does now, and one more for each judgement that is not usable. Moves those of
    their dialogues that are disputed back into review, and writes one Event for each item.
    """
    done = 0
    for pks in pages_of(items):
        rows = list(
            RoundItem.objects.filter(pk__in=pks, closed_at__isnull=False)
            .select_for_update(of=("self",))
            .values_list("pk", "uid", "dialogue_id")
        )
        opened = RoundItem.objects.filter(pk__in=[pk for pk, *_rest in rows])
        opened.update(closed_at=None, outcome="", wanted=Greatest(_PEOPLE + _SUBMITTED - F("given"), F("held")))
        dialogues_move(
            keys=[dialogue for *_rest, dialogue in rows],
            before=DialogueState.DISPUTED,
            to=DialogueState.IN_REVIEW,
            actor=actor,
            reason=reason,
        )
        events_record(
            actor=actor, verb="reopened", entity="rounditem", uids=[row[1] for row in rows], detail={"reason": reason}
        )
        done += len(rows)
    return done


def pages_of(items: QuerySet[RoundItem]) -> Iterator[list[int]]:
    """The ids of items as they are now, 500 at a time."""
    keys = list(items.order_by("pk").values_list("pk", flat=True))
    yield from (keys[start : start + CHUNK] for start in range(0, len(keys), CHUNK))
