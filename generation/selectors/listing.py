"""Corpora and dialogues as lists, filtered and counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from generation.domain.lifecycle import IN_PRODUCTION, REVIEWABLE, DialogueState
from generation.models import Corpus

FACETS = ("benchmark", "category", "language", "state", "source")


@dataclass(frozen=True)
class Facets:
    """The values that occur in a corpus, by field, with how many dialogues of the corpus have each."""

    values: Mapping[str, dict[str, int]]
    total: int


def corpora_listed() -> QuerySet[Corpus]:
    """Corpora by name with ``total``, ``making``, ``ready``, ``flagged`` and ``failed`` counted; one query."""
    return Corpus.objects.annotate(
        total=Count("dialogues"),
        making=Count("dialogues", filter=Q(dialogues__state__in=[state.value for state in IN_PRODUCTION])),
        ready=Count("dialogues", filter=Q(dialogues__state__in=[state.value for state in REVIEWABLE])),
        flagged=Count("dialogues", filter=Q(dialogues__state=DialogueState.FLAGGED.value)),
        failed=Count("dialogues", filter=Q(dialogues__state=DialogueState.FAILED.value)),
    ).order_by("name")


def corpus_facets(*, corpus: Corpus) -> Facets:
    """What a corpus holds, for its figures and its filters; one query."""
    rows = corpus.dialogues.order_by().values(*FACETS).annotate(count=Count("pk"))
    values: dict[str, dict[str, int]] = {name: {} for name in FACETS}
    total = 0
    for row in rows:
        total += row["count"]
        for name in FACETS:
            values[name][row[name]] = values[name].get(row[name], 0) + row["count"]
    return Facets(values={name: dict(sorted(found.items())) for name, found in values.items()}, total=total)
