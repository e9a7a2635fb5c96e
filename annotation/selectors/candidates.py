"""The items a person could be given now, best first, found along an index: nothing here counts or walks a round."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Value

from annotation.domain.assignment import Look, View, looks, shuffle_place
from annotation.models import Assignment, Kind, Participation, Round, RoundItem
from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.models import User
from eqstudio.prepared import Prepared

State = Assignment.State
FIRST_CHUNK, LARGEST_CHUNK = 8, 1024
DOUBTS_AT_MOST = 24
"""Levels of disagreement that are looked at one by one; below them items are taken as any other."""
_JUDGED = [State.ACTIVE.value, State.SUBMITTED.value, State.LATE.value]


HEARD = Q(state__in=[State.RELEASED.value, State.EXPIRED.value], draft__heard__icontains="[[")
"""Leases that ended without an answer, but whose draft has an interval in which something was heard."""


class Candidate(NamedTuple):
    """An open item with room, as read: somebody else may be first. ``barred`` where the person may not have it."""

    pk: int
    shuffle: int
    barred: bool


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
    """Items of kind work with room that the person may have, in the round's order. One query finds the first one, mostly."""
    asks = _Asks(round, annotator, now)
    seen: set[int] = set()
    for look in looks(round.order, _view(round, annotator, participation)):
        for chunk in _chunks(asks, look):
            for found in chunk:
                if found.pk not in seen and not found.barred:
                    yield found
                seen.add(found.pk)


def barred_items(*, round: Round, annotator: User, items: Sequence[int], now: datetime) -> set[int]:  # noqa: A002
    """Of ``items`` (ids) those that the person has or had: judged, held, refused for good, or skipped just now."""
    if not items:
        return set()
    theirs = _had(annotator.pk, _cool_down(round, now)).filter(item__in=items)
    return set(theirs.values_list("item_id", flat=True))


def _had(person: Any, cool_down: Any) -> QuerySet[Assignment]:
    """Leases of a person that keep their item from coming to them again."""
    refused = Q(skip__in=[Assignment.Skip.OTHERS.value, Assignment.Skip.UNJUDGEABLE.value]) | Q(ended_at__gt=cool_down)
    theirs = Q(state__in=_JUDGED) | (Q(state=State.RELEASED) & refused)
    return Assignment.objects.filter(theirs, annotator_id=person)


def _cool_down(round_: Round, now: datetime) -> datetime:
    return now - timedelta(minutes=round_.lease_minutes)


def _open(within: Any, person: Any, *, authors: bool, speaks: Sequence[Any] | None) -> QuerySet[RoundItem]:
    """Items with room; ``authors`` leaves out the person's own, ``speaks`` those in other languages."""
    items = RoundItem.objects.filter(round_id=within, kind=Kind.WORK, closed_at=None, held__lt=F("wanted"))
    if authors:
        items = items.filter(Q(author_id=None) | ~Q(author_id=person))
    return items if speaks is None else items.filter(language__in=speaks)


def _view(round_: Round, annotator: User, participation: Participation) -> View:
    balanced = round_.order == "category_balanced"
    return View(
        start=person_start(round=round_, annotator=annotator),
        cursor=participation.cursor,
        people=max(round_.people_at_most or 0, round_.people_per_item),
        latest=_latest_category(round_, annotator) if balanced else "",
        categories=_categories(round_) if balanced else (),
        doubts=list(_doubts(round_, annotator)) if round_.order == "least_agreed_first" else (),
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


def _doubts(round_: Round, annotator: User) -> Iterator[float]:
    """The levels of disagreement there are, highest first, one index seek each."""
    speaks = annotator.speaks if round_.language_needed else None
    items = _open(round_.pk, annotator.pk, authors=round_.exclude_authors, speaks=speaks)
    left = items.filter(disagreement__gt=0).order_by("-disagreement").values_list("disagreement", flat=True)
    for _level in range(DOUBTS_AT_MOST):
        found = left.first()
        if found is None:
            return
        yield found
        left = left.filter(disagreement__lt=found)


class _Shape(NamedTuple):
    """What one range of a look is, but for its values: each shape is compiled once."""

    where: tuple[str, ...]
    along: str
    ends: bool
    size: int
    authors: bool
    twins: bool
    speaks: int | None


@lru_cache(maxsize=256)
def _range(shape: _Shape) -> Prepared[tuple[int, int, int | None, int | None]]:
    """Id, place in the circle, and whether the person has had the item itself or has heard a twin of it, in any round."""

    def build(**given: Any) -> QuerySet[Any]:
        speaks = None if shape.speaks is None else [given[f"speaks_{number}"] for number in range(shape.speaks)]
        items = _open(given["within"], given["person"], authors=shape.authors, speaks=speaks)
        items = items.filter(**{f"{shape.along}__gt": given["after"]}, **{name: given[name] for name in shape.where})
        if shape.ends:
            items = items.filter(**{f"{shape.along}__lte": given["upto"]})
        # The person's leases are looked up for these few alone, one by one. An EXISTS the planner may turn into a list of all
        # that the person has ever had.
        few = items.order_by(shape.along).values("pk")[: shape.size]
        had = _had(given["person"], given["cool_down"]).filter(item_id=OuterRef("pk"))
        met = Assignment.objects.filter(HEARD | Q(state__in=_JUDGED), annotator_id=given["person"])
        twin = met.filter(item__twin_key=OuterRef("twin_key")).exclude(item__twin_key="").exclude(item=OuterRef("pk"))
        known = _any(twin) if shape.twins else Value(value=False)
        found = RoundItem.objects.filter(pk__in=few).annotate(had=_any(had), known=known)
        return found.order_by(shape.along).values_list("pk", "shuffle", "had", "known")

    names = ["within", "person", "cool_down", "after", *shape.where]
    names += ["upto"] * shape.ends + [f"speaks_{number}" for number in range(shape.speaks or 0)]
    return Prepared(build, names)


def _any(leases: QuerySet[Assignment]) -> Subquery:
    return Subquery(leases.order_by().values("pk")[:1])


class _Asks(NamedTuple):
    """Who asks, and when."""

    round: Round
    annotator: User
    now: datetime

    def range(self, look: Look, where: Mapping[str, Any], *, after: int, size: int) -> list[Candidate]:
        """The first of one range of a look."""
        speaks = self.annotator.speaks if self.round.language_needed else None
        if speaks == []:
            return []
        given = {"within": self.round.pk, "person": self.annotator.pk, "after": after, **where}
        given |= {f"speaks_{number}": language for number, language in enumerate(speaks or [])}
        given["cool_down"] = _cool_down(self.round, self.now)
        if look.upto is not None:
            given["upto"] = look.upto
        shape = _Shape(
            where=tuple(where),
            along=look.along,
            ends=look.upto is not None,
            size=size,
            authors=self.round.exclude_authors,
            twins=self.round.exclude_twins,
            speaks=None if speaks is None else len(speaks),
        )
        return [Candidate(pk, shuffle, bool(had or known)) for pk, shuffle, had, known in _range(shape).rows(**given)]


def _chunks(asks: _Asks, look: Look) -> Iterator[list[Candidate]]:
    """What a look gives, in chunks that grow: the first is nearly always enough."""
    after: int = look.after
    size = FIRST_CHUNK
    place = attrgetter(look.along)
    while True:
        ranges = [asks.range(look, where, after=after, size=size) for where in look.where]
        chunk = list(heapq.merge(*ranges, key=place))[:size]
        if chunk:
            yield chunk
        if len(chunk) < size:
            return
        after, size = place(chunk[-1]), min(2 * size, LARGEST_CHUNK)
