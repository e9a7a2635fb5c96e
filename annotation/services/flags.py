"""What looks wrong about a person's judgements is flagged, looked at, and decided; what follows is written beside them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Flag, Judgement, Kind, Round, RoundItem, Standing
from annotation.services.items import is_decided, item_close, item_reopen
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState

SPEED, STRAIGHT_LINE, SAME_SLOT, GOLD_LOW = "speed", "straight_line", "same_slot", "gold_low"
REASON_LIMIT = 200


def flag_raise(
    *,
    round: Round,  # noqa: A002 -- the word of the domain
    judgement: Judgement,
    code: str,
    key: str,
    evidence: dict[str, Any],
) -> Flag:
    """The flag of this finding: a new one with one Event, or the one that is there, whatever has been decided of it."""
    found, made = Flag.objects.get_or_create(
        round=round,
        annotator_id=judgement.annotator_id,
        code=code,
        key=key[:64],
        defaults={"judgement": judgement, "evidence": evidence},
    )
    if made:
        event_record(actor=None, verb="flagged", entity=found, code=code, round=round.name)
    return found


@transaction.atomic
def flag_decide(
    *,
    flag: Flag,
    uphold: bool,
    reason: str,
    actor: User,
    now: datetime,
    accepted: bool = True,
    usable: bool = True,
) -> Flag:
    """Uphold or dismiss an open flag with a reason, by one conditional UPDATE and one Event.

    Upheld with ``accepted`` or ``usable`` False writes the standing of the judgements it is about. Conflict when it is
    decided already.
    """
    reason = reason.strip()
    if not reason:
        raise InvalidInput(_("Say why: the reason is kept with the flag."), field="reason")
    state = Flag.State.UPHELD if uphold else Flag.State.DISMISSED
    changes = {"state": state.value, "decision": reason, "decided_by": actor, "decided_at": now}
    if not Flag.objects.filter(pk=flag.pk, state=Flag.State.OPEN).update(**changes):
        raise Conflict(_("Somebody has decided this flag already; their decision stands."))
    flag.refresh_from_db()
    event_record(actor=actor, verb=f"{state.value} a flag", entity=flag, code=flag.code, reason=reason)
    if uphold and not (accepted and usable):
        for judgement in flagged_judgements(flag):
            standing_set(judgement=judgement, accepted=accepted, usable=usable, reason=reason, actor=actor, now=now)
    return flag


def flagged_judgements(flag: Flag) -> Sequence[Judgement]:
    """The judgements that a flag is about: those named in its evidence, or the one it hangs on."""
    uids = flag.evidence.get("judgements") or []
    found = Judgement.objects.filter(annotator_id=flag.annotator_id, item__round_id=flag.round_id)
    chosen = found.filter(uid__in=uids) if uids else found.filter(flags=flag)
    return list(chosen.select_related("item__round", "assignment").order_by("pk"))


@transaction.atomic
def standing_set(
    *, judgement: Judgement, accepted: bool, usable: bool, reason: str, actor: User, now: datetime
) -> Standing:
    """Say whether a judgement is accepted (done and paid) and whether it is usable (enters statistics), with one Event.

    The judgement itself stays as it is. Where its use changes and nobody has decided the item since, the outcome of the
    item is worked out again. The same standing twice is one row. InvalidInput without a reason.
    """
    reason = reason.strip()[:REASON_LIMIT]
    if not reason:
        raise InvalidInput(_("Say why: the reason is kept with the judgement."), field="reason")
    item = (
        RoundItem.objects.select_for_update(of=("self",)).select_related("round", "dialogue").get(pk=judgement.item_id)
    )
    latest = judgement.standings.order_by("-pk").first()
    was_accepted, was_usable = (latest.accepted, latest.usable) if latest else (True, True)
    if latest is not None and (was_accepted, was_usable) == (accepted, usable):
        return latest
    follows = was_usable != usable and judgement.assignment.kind == Kind.WORK and _may_follow(item)
    if follows:
        item_reopen(item=item, actor=actor, reason="standing")
    made = Standing.objects.create(
        judgement=judgement, accepted=accepted, usable=usable, reason=reason, decided_by=actor
    )
    event_record(
        actor=actor, verb="set the standing", entity=judgement, accepted=accepted, usable=usable, reason=reason
    )
    if follows:
        item_close(item=item, now=now)
    return made


def _may_follow(item: RoundItem) -> bool:
    """Whether the outcome follows from the judgements that count; an expert's decision and a frozen split stand."""
    return item.dialogue.state != DialogueState.FROZEN.value and not is_decided(item=item)
