"""The items a person could be given now, best first, found along an index: nothing here counts or walks a round."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from django.db.models import F, Q, QuerySet

from annotation.domain.assignment import Look, View, looks, shuffle_place
from annotation.models import Assignment, Kind, Participation, Round, RoundItem
from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.models import User

State = Assignment.State
FIRST_CHUNK, LARGEST_CHUNK = 16, 1024
DOUBTS_AT_MOST = 24
"""Levels of disagreement that are looked at one by one; below them items are taken as any other."""
_JUDGED = [State.ACTIVE.value, State.SUBMITTED.value, State.LATE.value]


class Candidate(NamedTuple):
    """An open item with room, as read: somebody else may be first."""

    pk: int
    shuffle: int
    twin_key: str


def person_start(*, round: Round, annotator: User) -> int:  # noqa: A002 -- the word of the domain
    """Where in the circle a person begins; it follows from the round's seed and the person alone."""
    return shuffle_place(seed=str(round.seed), key=annotator.uid)


def candidates(
    *,
    round: Round,  # noqa: A002 -- the word of the domain
    annotator: User,
    participation: Participation,
    now: datetime,
) -> Iterator[Candidate]:
    """Items of kind work with room that the person may have, in the round's order. A few queries for the first one."""
    items = _open(round, annotator)
    seen: set[int] = set()
    for look in looks(round.order, _view(round, annotator, participation, items)):
        for chunk in _chunks(items, look):
            fresh = [found for found in chunk if found.pk not in seen]
            seen.update(found.pk for found in fresh)
            barred = barred_items(round=round, annotator=annotator, items=[found.pk for found in fresh], now=now)
            left = [found for found in fresh if found.pk not in barred]
            yield from _without_twins(left, annotator) if round.exclude_twins else left


def barred_items(*, round: Round, annotator: User, items: Sequence[int], now: datetime) -> set[int]:  # noqa: A002
    """Of ``items`` (ids) those that the person has or had: judged, held, refused for good, or skipped just now."""
    cool_down = now - timedelta(minutes=round.lease_minutes)
    refused = Q(skip__in=[Assignment.Skip.OTHERS.value, Assignment.Skip.UNJUDGEABLE.value]) | Q(ended_at__gt=cool_down)
    theirs = Q(state__in=_JUDGED) | (Q(state=State.RELEASED) & refused)
    if not items:
        return set()
    return set(Assignment.objects.filter(theirs, annotator=annotator, item__in=items).values_list("item_id", flat=True))


def _open(round_: Round, annotator: User) -> QuerySet[RoundItem]:
    items = RoundItem.objects.filter(round=round_, kind=Kind.WORK, closed_at=None, held__lt=F("wanted"))
    if round_.exclude_authors:
        items = items.filter(Q(author=None) | ~Q(author=annotator))
    if round_.language_needed:
        items = items.filter(language__in=annotator.speaks)
    return items


def _view(round_: Round, annotator: User, participation: Participation, items: QuerySet[RoundItem]) -> View:
    balanced = round_.order == "category_balanced"
    return View(
        start=person_start(round=round_, annotator=annotator),
        cursor=participation.cursor,
        people=max(round_.people_at_most or 0, round_.people_per_item),
        latest=_latest_category(round_, annotator) if balanced else "",
        categories=_categories(round_) if balanced else (),
        doubts=list(_doubts(items)) if round_.order == "least_agreed_first" else (),
    )


def _latest_category(round_: Round, annotator: User) -> str:
    leases = Assignment.objects.filter(annotator=annotator, item__round=round_).order_by("-pk")
    return leases.values_list("item__category", flat=True).first() or ""


def _categories(round_: Round) -> list[str]:
    """The categories the round may hold, in a fixed order: those it asks for, else those of its benchmark."""
    asked = round_.query.get("categories")
    if asked:
        return sorted(asked)
    which = [round_.benchmark] if round_.benchmark else list(benchmarks)
    return sorted({category.key for alias in which for category in benchmark_get(alias).categories})


def _doubts(items: QuerySet[RoundItem]) -> Iterator[float]:
    """The levels of disagreement there are, highest first, one index seek each."""
    left = items.filter(disagreement__gt=0).order_by("-disagreement").values_list("disagreement", flat=True)
    for _level in range(DOUBTS_AT_MOST):
        found = left.first()
        if found is None:
            return
        yield found
        left = left.filter(disagreement__lt=found)


def _chunks(items: QuerySet[RoundItem], look: Look) -> Iterator[list[Candidate]]:
    """What a look gives, in chunks that grow: the first is nearly always enough."""
    after: int = look.after
    size = FIRST_CHUNK
    while True:
        within = items.filter(**{f"{look.along}__gt": after})
        if look.upto is not None:
            within = within.filter(**{f"{look.along}__lte": look.upto})
        ranges = [
            within.filter(**where).order_by(look.along).values_list("pk", "shuffle", "twin_key")[:size]
            for where in look.where
        ]
        place = attrgetter(look.along)
        chunk = list(heapq.merge(*(map(Candidate._make, rows) for rows in ranges), key=place))[:size]
        if chunk:
            yield chunk
        if len(chunk) < size:
            return
        after, size = place(chunk[-1]), min(2 * size, LARGEST_CHUNK)


def _without_twins(found: list[Candidate], annotator: User) -> list[Candidate]:
    """Without items that the person knows from elsewhere: a twin of theirs was judged or is held, in any round."""
    keys = {candidate.twin_key for candidate in found} - {""}
    if not keys:
        return found
    known = set(
        Assignment.objects.filter(annotator=annotator, state__in=_JUDGED, item__twin_key__in=keys).values_list(
            "item__twin_key", flat=True
        )
    )
    return [candidate for candidate in found if candidate.twin_key not in known]
