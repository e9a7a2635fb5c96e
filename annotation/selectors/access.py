"""Who may reach which round, item, lease, judgement or split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotation.models import (
    Assignment,
    Export,
    Freeze,
    GuidelineExample,
    Judgement,
    Round,
    RoundItem,
    Split,
    SplitAudit,
)
from annotation.selectors.gates import is_public
from eqstudio.access import can_annotate, can_curate, can_sit_exam, object_for, object_or_refuse
from eqstudio.errors import NotFound
from eqstudio.models import User
from eqstudio.prepared import Prepared

belongs_here = can_sit_exam
_LEASE = Prepared[Assignment](
    lambda person, uid: Assignment.objects.select_related("item__round").filter(annotator_id=person, uid=uid).order_by()
)
_ROUND = Prepared[Round](
    lambda uid: (
        Round.objects.annotate(exampled=Exists(GuidelineExample.objects.filter(round=OuterRef("pk"))))
        .filter(uid=uid)
        .order_by()
    )
)
_IN_HAND = Prepared[Assignment](
    lambda person, within, uid: (
        Assignment.objects.select_related("item__round")
        .annotate(exampled=Exists(GuidelineExample.objects.filter(round=OuterRef("item__round"))))
        .filter(annotator_id=person, item__round__uid=within, uid=uid)
        .order_by()
    )
)


def round_for(user: User, uid: str, *, may_do: Callable[[Any], bool] = belongs_here) -> Round:
    """A round, for anybody with a role; pages of researchers pass ``may_do=can_curate``."""
    return object_for(user, Round.objects.select_related("corpus"), may_know=belongs_here, may_do=may_do, uid=uid)


def round_to_judge(user: User, uid: str) -> Round:
    """A round, for annotators."""
    found = _ROUND.first(uid=uid)
    return object_or_refuse(user, found, model=Round, may_know=belongs_here, may_do=can_annotate)


def lease_in_hand(user: User, round_uid: str, uid: str) -> Assignment | None:
    """The person's own lease in a round with both, if they may judge there and have it. One query."""
    found = _IN_HAND.first(person=user.pk, within=round_uid, uid=uid)
    if found is None or not can_annotate(user):
        return None
    found.annotator, found.item.round.exampled = user, found.exampled  # type: ignore[attr-defined]
    return found


def lease_to_judge(user: User, uid: str) -> Assignment:
    """The person's own lease with its item and round; anybody else's does not exist for them."""
    found = _LEASE.first(person=user.pk, uid=uid)
    lease = object_or_refuse(user, found, model=Assignment, may_know=belongs_here, may_do=can_annotate)
    lease.annotator = user
    return lease


def rounds_open_for(user: User) -> QuerySet[Round]:
    """Rounds in which the person may judge now."""
    if not can_annotate(user):
        return Round.objects.none()
    return Round.objects.filter(state=Round.State.OPEN, corpus__isnull=False).select_related("corpus")


def judgement_for(user: User, uid: str) -> Judgement:
    """The person's own judgement; anybody else's does not exist for them."""
    mine = Judgement.objects.select_related("item__dialogue", "item__round", "assignment", "annotator")
    return object_for(user, mine.filter(annotator_id=user.pk), may_know=belongs_here, may_do=can_annotate, uid=uid)


def item_for(user: User, uid: str) -> RoundItem:
    """An item with everything about it, for a researcher or admin."""
    items = RoundItem.objects.select_related("dialogue", "round")
    return object_for(user, items, may_know=belongs_here, may_do=can_curate, uid=uid)


def split_for(user: User, uid: str) -> Split:
    """A split, for a researcher or admin."""
    splits = Split.objects.select_related("round", "corpus", "created_by")
    return object_for(user, splits, may_know=belongs_here, may_do=can_curate, uid=uid)


def freeze_for(user: User, uid: str) -> Freeze:
    """A freeze that was asked for, for a researcher or admin."""
    found = Freeze.objects.select_related("split", "created_by")
    return object_for(user, found, may_know=belongs_here, may_do=can_curate, uid=uid)


def export_for(user: User, uid: str) -> Export:
    """An export, for a researcher or admin."""
    return object_for(user, Export.objects.select_related("split"), may_know=belongs_here, may_do=can_curate, uid=uid)


def audit_for(user: User, uid: str) -> SplitAudit:
    """An audit, for a researcher or admin."""
    audits = SplitAudit.objects.select_related("split", "against", "created_by")
    return object_for(user, audits, may_know=belongs_here, may_do=can_curate, uid=uid)


def public_split_for(uid: str) -> Split:
    """A released split whose page is open to anybody; any other does not exist for them."""
    split = Split.objects.select_related("round", "corpus").filter(uid=uid).first()
    if split is None or not is_public(split=split):
        raise NotFound(_("There is no such page."))
    return split
