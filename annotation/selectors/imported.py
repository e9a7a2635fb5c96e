"""Ratings made elsewhere, as far as they count: those of an import that was taken out again do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Max, QuerySet

from annotation.models import ImportedRating, RatingsImport, Round, RoundItem
from generation.models import Variant

_CHUNK = 20_000


def imported_ratings(*, round: Round) -> QuerySet[ImportedRating]:  # noqa: A002 -- the word of the domain
    """The imported ratings of a round that count."""
    return ImportedRating.objects.filter(round=round, source__withdrawal=None)


def imported_stamp(*, round: Round) -> tuple[Any, ...]:  # noqa: A002
    """Differs whenever another set of imported ratings counts. One query."""
    found = imported_ratings(round=round).order_by().aggregate(n=Count("pk"), last=Max("pk"))
    return (found["n"], found["last"])


def ratings_imports(*, round: Round) -> QuerySet[RatingsImport]:  # noqa: A002
    """The imports of a round, newest first, with ``n`` ratings each and the withdrawal, if any."""
    found = RatingsImport.objects.filter(round=round).annotate(n=Count("ratings"))
    return found.select_related("imported_by", "withdrawal__withdrawn_by").order_by("-pk")


def items_elsewhere(*, round: Round, items: Iterable[str]) -> set[str]:  # noqa: A002
    """Of these item codes those that are nothing in the round: no item, dialogue (by uid or external id) or version."""
    left = set(items)
    inside = RoundItem.objects.filter(round=round)
    names = inside.values_list("uid", "dialogue__uid", "dialogue__external_id")
    for known in names.iterator(chunk_size=_CHUNK):
        left.difference_update(known)
    if left:
        variants = Variant.objects.filter(turn__dialogue__in=inside.values("dialogue"))
        left.difference_update(variants.values_list("uid", flat=True).iterator(chunk_size=_CHUNK))
    return left
