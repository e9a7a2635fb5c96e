"""What an expert sees of a disputed item, and which comes next."""

from __future__ import annotations

from django.db.models import OuterRef, QuerySet, Subquery

from annotation.models import Adjudication, Round, RoundItem, Split
from annotation.selectors.agreement import disputed_items
from generation.domain.lifecycle import DialogueState

SIMILAR = 5


def disputes_chosen(*, round: Round | None, category: str) -> QuerySet[RoundItem]:  # noqa: A002
    """The experts' queue, of one round and one category where asked; first closed first."""
    waiting = disputed_items(round=round)
    return waiting.filter(dialogue__category=category) if category else waiting


def dispute_after(*, item: RoundItem, round: Round | None, category: str) -> RoundItem | None:  # noqa: A002
    """The item that follows in the queue; after the last the first."""
    waiting = disputes_chosen(round=round, category=category).exclude(pk=item.pk)
    if item.closed_at is None:
        return waiting.first()
    later = waiting.filter(closed_at__gt=item.closed_at) | waiting.filter(closed_at=item.closed_at, pk__gt=item.pk)
    return later.order_by("closed_at", "pk").first() or waiting.first()


def similar_decided(*, item: RoundItem) -> list[Adjudication]:
    """Standing decisions of experts on other items of the same category, of the same round and latest first."""
    latest = Adjudication.objects.filter(item=OuterRef("item")).order_by("-pk").values("pk")[:1]
    same = Adjudication.objects.filter(
        action=Adjudication.Action.DECIDED,
        pk=Subquery(latest),
        item__dialogue__benchmark=item.dialogue.benchmark,
        item__dialogue__category=item.dialogue.category,
    ).exclude(item=item)
    found = list(same.select_related("item__dialogue", "item__round", "decided_by").order_by("-pk")[: 4 * SIMILAR])
    found.sort(key=lambda decision: decision.item.round_id != item.round_id)
    return found[:SIMILAR]


def splits_holding(*, item: RoundItem) -> list[Split]:
    """The splits that froze an item's dialogue; none while its outcome may still change."""
    if item.dialogue.state != DialogueState.FROZEN.value:
        return []
    return list(Split.objects.filter(items__dialogue=item.dialogue_id).only("uid", "name", "version"))
