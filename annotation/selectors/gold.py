"""The items of a round with a known answer, and how people do on them."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from annotation.domain.quality import Doubt, doubts, share
from annotation.models import Adjudication, GoldAnswer, Kind, Round, RoundItem
from annotation.selectors.quality import KNOWN_KINDS, checked, first_words, known_answers, last_words, rules_of
from eqstudio.estimates import Estimate


class GoldRow(NamedTuple):
    """One item: what is known (None when the answer was taken away), the share of people who met it, and whether most
    of the good judges fail on it.
    """

    item: RoundItem
    answer: GoldAnswer | None
    rate: Estimate
    doubt: Doubt


def gold_rows(*, round: Round) -> list[GoldRow]:  # noqa: A002 -- the word of the domain
    """Gold, training and qualification, each in the order in which it came in. A fixed number of queries."""
    items = list(round.items.filter(kind__in=KNOWN_KINDS).select_related("dialogue").order_by("kind", "pk"))
    known = known_answers(items=[item.pk for item in items])
    results = checked(last_words(round=round, kinds=[Kind.GOLD.value, Kind.QUALIFICATION.value]))
    results += checked(first_words(round=round, kinds=[Kind.TRAINING.value]))
    rights: dict[int, list[bool]] = defaultdict(list)
    by_person: dict[int, dict[int, bool]] = defaultdict(dict)
    for row in results:
        rights[row.item].append(row.right)
        by_person[row.annotator][row.item] = row.right
    doubted = doubts(by_person, mark=rules_of(round).gold_pass)
    return [
        GoldRow(item, known.get(item.pk), share(rights[item.pk]), doubted.get(item.pk, Doubt(0, 0))) for item in items
    ]


def decided_items(*, round: Round, limit: int = 10) -> list[RoundItem]:  # noqa: A002
    """Items of work that an expert has decided, the latest first: they can become gold as they are."""
    latest = (
        Adjudication.objects.filter(item__round=round, item__kind=Kind.WORK)
        .order_by("-pk")
        .values_list("item", "action")
    )
    last: dict[int, str] = {}
    for item, action in latest[: limit * 5]:
        last.setdefault(item, action)
    chosen = [item for item, action in last.items() if action == Adjudication.Action.DECIDED][:limit]
    found = RoundItem.objects.select_related("dialogue").in_bulk(chosen)
    return [found[item] for item in chosen]
