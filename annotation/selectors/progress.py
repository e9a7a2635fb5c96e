"""How far a round is, and who did what in it."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet

from annotation.models import Assignment, Judgement, Round, RoundItem
from annotation.selectors.judgements import live_judgements

State = Assignment.State
Outcome = RoundItem.Outcome


def rounds_with_progress(rounds: QuerySet[Round]) -> QuerySet[Round]:
    """Rounds with items_all, items_closed, given and wanted (judgements) as attributes. One query."""
    submitted = Q(items__assignments__state=State.SUBMITTED)
    return rounds.annotate(
        items_all=Count("items", distinct=True),
        items_closed=Count("items", filter=Q(items__closed_at__isnull=False), distinct=True),
        given=Count("items__assignments", filter=submitted, distinct=True),
        wanted=Count("items", distinct=True) * F("people_per_item"),
    )


def round_progress(*, round: Round) -> dict[str, Any]:  # noqa: A002 -- the word of the domain
    """Items by outcome, judgements given of those asked for, and how many items have how many judgements."""
    submitted = Count("assignments", filter=Q(assignments__state=State.SUBMITTED))
    by_given: dict[int, int] = dict.fromkeys(range(round.people_per_item + 1), 0)
    counts = dict.fromkeys((Outcome.KEPT.value, Outcome.REJECTED.value, Outcome.DISPUTED.value), 0)
    items = closed = 0
    for outcome, given in round.items.annotate(counted=submitted).values_list("outcome", "counted"):
        items += 1
        closed += bool(outcome)
        by_given[given] = by_given.get(given, 0) + 1
        if outcome:
            counts[outcome] += 1
    judgements = sum(given * number for given, number in by_given.items())
    return {
        "items": items,
        "closed": closed,
        "open": items - closed,
        **counts,
        "judgements": judgements,
        "wanted": items * round.people_per_item,
        "coverage": [{"judgements": given, "items": number} for given, number in sorted(by_given.items())],
        "reserved": Assignment.objects.filter(item__round=round, state=State.ACTIVE).count(),
    }


def round_people(*, round: Round) -> list[dict[str, Any]]:  # noqa: A002
    """Per person: judgements that count, late and skipped ones, share kept, median active seconds, last seen."""
    leases = (
        Assignment.objects.filter(item__round=round)
        .order_by()
        .values("annotator_id", "annotator__username", "annotator__display_name", "annotator__uid")
        .annotate(
            submitted=Count("pk", filter=Q(state=State.SUBMITTED)),
            late=Count("pk", filter=Q(state=State.LATE)),
            skipped=Count("pk", filter=Q(state=State.RELEASED)),
            last=Max("ended_at"),
        )
    )
    given = _by_person(live_judgements(round=round).values_list("annotator_id", "verdict", "active_ms"))
    return [
        {
            "name": row["annotator__display_name"] or row["annotator__username"],
            "uid": row["annotator__uid"],
            "submitted": row["submitted"],
            "late": row["late"],
            "skipped": row["skipped"],
            "last": row["last"],
            **given.get(row["annotator_id"], {"kept_share": None, "seconds": None}),
        }
        for row in sorted(leases, key=lambda row: (-row["submitted"], row["annotator__username"]))
    ]


def _by_person(rows: Iterable[tuple[int, str, int]]) -> dict[int, dict[str, float]]:
    people: dict[int, list[tuple[str, int]]] = {}
    for person, verdict, active_ms in rows:
        people.setdefault(person, []).append((verdict, active_ms))
    return {
        person: {
            "kept_share": sum(verdict == Judgement.Verdict.KEEP for verdict, _ in given) / len(given),
            "seconds": median(active_ms for _, active_ms in given) / 1000,
        }
        for person, given in people.items()
    }
