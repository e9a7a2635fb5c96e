"""A split leaves the workshop: gates that are shut may be waived in writing, and an item may be taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.domain.curation import Recipe
from annotation.domain.manifest import FORMAT
from annotation.models import Release, Split, SplitItem, Waiver, Withdrawal
from annotation.selectors.gates import GATES, latest_release, split_gates
from annotation.selectors.split_agreement import keys_agreement
from annotation.selectors.splits import split_rounds
from annotation.services.splits import split_finish, split_insert
from eqstudio.access import can_administer
from eqstudio.errors import Conflict, Forbidden, InvalidInput, NotFound
from eqstudio.events import event_record
from eqstudio.models import User

SHORTEST_REASON = 10
_VOLATILE = ("withdrawn", "from_version", "frozen_at", "agreement")


def _reason(text: str) -> str:
    told = text.strip()
    if len(told) < SHORTEST_REASON:
        raise InvalidInput(
            _("Say why, in %(count)d letters or more: whoever looks later will want to know.")
            % {"count": SHORTEST_REASON},
            field="reason",
        )
    return told


@transaction.atomic
def gate_waive(*, split: Split, gate: str, reason: str, actor: User) -> Waiver:
    """An admin lets a shut gate pass, in writing. Inserts the Waiver, writes one Event.

    It holds for what the gate is shut by now: what a later audit finds besides shuts it again. Forbidden for others, InvalidInput
    for an unknown gate or without a reason, Conflict when it is open or waived already.
    """
    if not can_administer(actor):
        raise Forbidden(_("Only an admin may waive a gate."))
    if gate not in GATES:
        raise InvalidInput(_("There is no such gate. Known: %(known)s.") % {"known": ", ".join(GATES)}, field="gate")
    told = _reason(reason)
    Split.objects.select_for_update(no_key=True).only("pk").get(pk=split.pk)  # two admins at once waive it once
    found = next(one for one in split_gates(split=split) if one.name == gate)
    if found.passes:
        raise Conflict(_("This gate does not stand in the way. Nothing was changed."))
    waiver = Waiver.objects.create(split=split, gate=gate, reason=told, found=list(found.found), waived_by=actor)
    event_record(actor=actor, verb="waived gate", entity=split, gate=gate, why=found.why, reason=told)
    return waiver


@transaction.atomic
def split_release(*, split: Split, actor: User | None = None) -> Release:
    """Release a split whose gates are all open or waived. Inserts the Release with how they stood, writes one Event."""
    gates = split_gates(split=split)
    shut = [gate for gate in gates if not gate.passes]
    if shut:
        told = " ".join(f"{gate.name}: {gate.why}" for gate in shut)
        raise Conflict(
            _("It cannot be released yet. %(told)s Mend this, or have an admin waive it in writing.") % {"told": told}
        )
    if latest_release(split=split) is not None:
        raise Conflict(_("%(split)s is released already.") % {"split": split})
    release = Release.objects.create(split=split, gates=[gate.as_dict() for gate in gates], released_by=actor)
    event_record(actor=actor, verb="released split", entity=split, manifest_hash=split.manifest_hash)
    return release


@transaction.atomic
def split_publish(*, split: Split, public: bool, actor: User | None = None) -> Release:
    """Open the public page of a released split, or shut it. Inserts a Release that counts from now on, writes one Event."""
    latest = latest_release(split=split)
    if latest is None:
        raise Conflict(_("Only a released split has a public page. Release it first."))
    if latest.public == public:
        return latest
    release = Release.objects.create(split=split, public=public, gates=latest.gates, released_by=actor)
    if public:
        event_record(actor=actor, verb="opened public page", entity=split)
    else:
        event_record(actor=actor, verb="shut public page", entity=split)
    return release


@transaction.atomic
def split_withdraw(
    *, split: Split, items: Sequence[str], reason: str, actor: User | None = None, now: datetime
) -> Split:
    """Make the next version of a split without some of its items, named by public id; everything else stays as it was.

    Inserts the Withdrawals (later freezes under this name leave the items out), the new Split and its items, writes one
    Event for what was withdrawn and one for the new version. Conflict when a later version is there already.
    """
    told = _reason(reason)
    newest = Split.objects.filter(name=split.name).order_by("-version").first()
    if newest is not None and newest.pk != split.pk:
        raise Conflict(_("%(newest)s is a later version. Withdraw the item from that one.") % {"newest": newest})
    gone = list(
        split.items.filter(dialogue__uid__in=[one for one in items if one.isascii()]).select_related("dialogue")
    )
    missing = sorted(set(items) - {row.dialogue.uid for row in gone})
    if missing or not gone:
        raise NotFound(
            _("These are no items of %(split)s: %(items)s.") % {"split": split, "items": ", ".join(map(ascii, missing))}
        )
    if len(gone) == split.item_count:
        raise InvalidInput(_("Without these items nothing would be left."), field="items")
    for row in gone:
        Withdrawal.objects.get_or_create(
            name=split.name, dialogue=row.dialogue, defaults={"reason": told, "withdrawn_by": actor}
        )
    event_record(actor=actor, verb="withdrew", entity=split, items=[row.dialogue.uid for row in gone], reason=told)
    kept = list(
        split.items.exclude(pk__in=[row.pk for row in gone]).order_by("position").values_list("dialogue_id", flat=True)
    )
    new = _next_version(split, gone, told, kept, actor=actor, now=now)
    return split_finish(split=new, rows=_kept_entries(split, {row.pk for row in gone}), keys=kept, actor=actor)


def _next_version(
    split: Split, gone: list[SplitItem], reason: str, kept: list[int], *, actor: User | None, now: datetime
) -> Split:
    withdrawn = [
        *split.manifest.get("withdrawn", []),
        *({"uid": row.dialogue.uid, "content": row.identity, "reason": reason} for row in gone),
    ]
    recipe = Recipe(agreement_measure=split.recipe.get("agreement_measure", Recipe.agreement_measure))
    head = {name: value for name, value in split.manifest.items() if name not in _VOLATILE} | {
        "format": FORMAT,
        "withdrawn": withdrawn,
        "from_version": split.version,
        "frozen_at": now.isoformat(),
        "agreement": keys_agreement(rounds=split_rounds(split=split), keys=kept, recipe=recipe).as_dict(),
    }
    new = Split(
        name=split.name,
        benchmark=split.benchmark,
        corpus=split.corpus,
        round=split.round,
        recipe=split.recipe,
        manifest=head,
        item_count=len(kept),
        is_demo=split.is_demo,
        frozen_at=now,
        created_by=actor,
    )
    return split_insert(split=new)


def _kept_entries(split: Split, gone: set[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = split.items.order_by("position").values_list("pk", "dialogue_id", "entry")
    for key, dialogue, entry in rows.iterator(chunk_size=500):
        if key not in gone:
            yield dialogue, entry
