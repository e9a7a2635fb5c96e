"""Everything behind one item of a comparison: what each respondent answered, in which words, and how it was tagged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from evaluation.models import ErrorTag, Respondent, Response, Study
from evaluation.selectors.marks import counting
from generation.models import Dialogue


def answers_to(*, study: Study, dialogue: Dialogue) -> QuerySet[Response]:
    """Every answer to this item, people first; with what was read from it."""
    return (
        Response.objects.filter(counting(study), trial__dialogue=dialogue)
        .select_related("trial__sitting__respondent")
        .prefetch_related("scores")
        .order_by("trial__sitting__respondent_id", "trial__sitting__run", "pk")
    )


def tags_on(*, study: Study, dialogue: Dialogue) -> dict[int, set[str]]:
    """The tags that stand, by respondent."""
    found: dict[int, set[str]] = {}
    for row in ErrorTag.objects.filter(study=study, dialogue=dialogue).order_by("pk"):
        tags = found.setdefault(row.respondent_id, set())
        (tags.discard if row.removed else tags.add)(row.tag)
    return found


@dataclass(frozen=True)
class TagCount:
    tag: str
    items: int


def tags_counted(*, study: Study, respondent: Respondent) -> list[TagCount]:
    """How many items of a respondent carry each tag, most frequent first."""
    standing: dict[tuple[int, str], bool] = {}
    rows: Iterable[tuple[int, str, bool]] = (
        ErrorTag.objects.filter(study=study, respondent=respondent)
        .order_by("pk")
        .values_list("dialogue_id", "tag", "removed")
    )
    for dialogue, tag, removed in rows:
        standing[dialogue, tag] = not removed
    counts = Counter(tag for (_dialogue, tag), stands in standing.items() if stands)
    return [TagCount(tag, n) for tag, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
