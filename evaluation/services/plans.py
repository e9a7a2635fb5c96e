"""The plan of a person's sitting, made before the first question: which items, what else, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict
from evaluation.domain.plan import items_choose, plan_build
from evaluation.domain.protocol import Protocol
from evaluation.models import Part, PlanEntry, Response, Sitting
from evaluation.selectors.exposure import exposures, twin_keys
from evaluation.selectors.plans import specials_of, times_asked
from evaluation.selectors.progress import dialogue_order
from evaluation.selectors.protocols import protocol_of

EXPOSED = "exposed_before"
_MS_A_MINUTE = 60_000


def plan_make(*, sitting: Sitting) -> None:
    """Insert the plan of a sitting by its protocol. Made twice at once it is kept once.

    Conflict where the protocol asks for more practice or attention items than were chosen, and where the person has met every
    item before and the protocol bars such items.
    """
    study = sitting.respondent.study
    protocol = protocol_of(study)
    items = _items(sitting, protocol)
    rng = Random(f"plan:{sitting.order_seed}")  # noqa: S311 -- an order, not a secret
    practice = _specials(sitting, Part.PRACTICE, protocol.execution.practice)[: protocol.execution.practice]
    attention = rng.sample(
        _specials(sitting, Part.ATTENTION, protocol.execution.attention), protocol.execution.attention
    )
    entries = plan_build(items, practice=practice, attention=attention, repeats=protocol.execution.repeats, rng=rng)
    try:
        with transaction.atomic():
            PlanEntry.objects.bulk_create(
                [
                    PlanEntry(sitting=sitting, position=position, dialogue_id=dialogue, part=part)
                    for position, (dialogue, part) in enumerate(entries)
                ],
                batch_size=500,
            )
    except IntegrityError:
        if not sitting.plan.exists():
            raise


def _items(sitting: Sitting, protocol: Protocol) -> list[int]:
    order = dialogue_order(sitting=sitting)
    barred = _barred(sitting, order, protocol)
    size = protocol.execution.per_sitting
    chosen = items_choose(
        order,
        size=size,
        barred=barred,
        twins=twin_keys(dialogues=order) if size is not None else {},
        asked=times_asked(study=sitting.respondent.study) if size is not None else {},
    )
    if order and not chosen:
        raise Conflict(
            _(
                "You have met every item of this study before, as author or judge. Its protocol wants people who have not."
            )
        )
    return chosen


def _barred(sitting: Sitting, order: Sequence[int], protocol: Protocol) -> set[int]:
    """Items the person has met before, where the protocol declares that; elsewhere they are asked and marked."""
    user = sitting.respondent.user_id
    if user is None or all(one.rule != EXPOSED for one in protocol.analysis.exclusions):
        return set()
    return exposures(study=sitting.respondent.study, dialogues=order, since={user: sitting.started})[user]


def _specials(sitting: Sitting, purpose: Part, wanted: int) -> list[int]:
    if not wanted:
        return []
    found = specials_of(study=sitting.respondent.study, purpose=purpose)
    if len(found) < wanted:
        raise Conflict(
            _("This study is not ready: its protocol asks for %(wanted)s of %(purpose)s, and %(found)s are chosen.")
            % {"wanted": wanted, "purpose": purpose.label, "found": len(found)}
        )
    return found


def time_is_up(*, sitting: Sitting) -> bool:
    """Whether the person was active for as long as the protocol lets a sitting last."""
    if sitting.respondent.kind != sitting.respondent.Kind.PERSON:
        return False
    limit = protocol_of(sitting.respondent.study).execution.max_minutes
    if limit is None:
        return False
    spent = Response.objects.filter(trial__sitting=sitting).values_list("paradata", flat=True)
    return sum(paradata.get("active_ms") or 0 for paradata in spent) >= limit * _MS_A_MINUTE
