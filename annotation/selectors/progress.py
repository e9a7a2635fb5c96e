"""How far a round is, and who did what in it."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from annotation.models import Assignment, Kind, Round, RoundItem

State = Assignment.State
Outcome = RoundItem.Outcome


def rounds_with_progress(rounds: QuerySet[Round]) -> QuerySet[Round]:
    """Rounds with items_all, items_closed, given and wanted (judgements that count, and those asked for) as attributes.
    One query.
    """
    work = Q(items__kind=Kind.WORK)
    return rounds.annotate(
        items_all=Count("items", filter=work),
        items_closed=Count("items", filter=work & Q(items__closed_at__isnull=False)),
        given=Coalesce(Sum("items__given", filter=work), 0),
        wanted=Coalesce(Sum("items__wanted", filter=work), 0),
    )


def round_progress(*, round: Round) -> dict[str, Any]:  # noqa: A002 -- the word of the domain
    """Items by outcome, judgements given of those asked for, and how many items have how many judgements. Two queries."""
    groups = round.items.filter(kind=Kind.WORK).order_by().values_list("outcome", "given")
    rows = list(groups.annotate(items=Count("pk"), asked=Sum("wanted")))
    by_given: dict[int, int] = dict.fromkeys(range(round.people_per_item + 1), 0)
    counts = dict.fromkeys((Outcome.KEPT.value, Outcome.REJECTED.value, Outcome.DISPUTED.value), 0)
    for outcome, given, items, _asked in rows:
        by_given[given] = by_given.get(given, 0) + items
        if outcome:
            counts[outcome] += items
    items, closed = sum(row[2] for row in rows), sum(counts.values())
    return {
        "items": items,
        "closed": closed,
        "open": items - closed,
        **counts,
        "judgements": sum(given * number for given, number in by_given.items()),
        "wanted": sum(row[3] for row in rows),
        "coverage": [{"judgements": given, "items": number} for given, number in sorted(by_given.items())],
        "reserved": Assignment.objects.filter(item__round=round, state=State.ACTIVE).count(),
    }
