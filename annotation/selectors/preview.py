"""What a recipe would take, step by step, without reading any content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db.models import Count
from django.utils.translation import gettext as _

from annotation.domain.curation import Offered, Recipe, choose
from annotation.models import Round
from annotation.selectors.judgements import live_judgements
from annotation.selectors.splits import split_dialogues
from generation.models import Corpus


@dataclass(frozen=True)
class Preview:
    """``steps`` are (rule, items left) from everything to what would be frozen; the counters are of the latter."""

    steps: list[tuple[str, int]]
    size: int
    categories: list[tuple[str, int]]
    languages: list[tuple[str, int]]
    benchmarks: list[tuple[str, int]]


def split_preview(*, round: Round | None, corpus: Corpus | None, recipe: Recipe) -> Preview:  # noqa: A002
    """How many items each rule of a recipe leaves, and of which kinds. A handful of queries."""
    loose = Recipe(outcome=recipe.outcome)
    steps = []
    if round is not None:
        steps.append((_("in the round"), round.items.count()))
        steps.append((_("with this outcome"), split_dialogues(round=round, corpus=None, recipe=loose).count()))
    else:
        steps.append(
            (_("ready, kept or frozen in the corpus"), split_dialogues(round=None, corpus=corpus, recipe=loose).count())
        )
    rows = list(
        split_dialogues(round=round, corpus=corpus, recipe=recipe).values_list(
            "pk", "category", "language", "benchmark"
        )
    )
    steps.append((_("of this benchmark, language and source"), len(rows)))
    people = _people(round)
    offered = [Offered(pk, str(pk), category, people.get(pk, 0)) for pk, category, *_rest in rows]
    unlimited = replace(recipe, size=0, per_category=0)
    steps.append((_("judged by enough people"), len(choose(offered, unlimited))))
    taken = {item.key for item in choose(offered, recipe)}
    steps.append((_("within the limits of size"), len(taken)))
    chosen = [row for row in rows if row[0] in taken]
    return Preview(
        steps=steps,
        size=len(chosen),
        categories=_counted(row[1] for row in chosen),
        languages=_counted(row[2] for row in chosen),
        benchmarks=_counted(row[3] for row in chosen),
    )


def _people(round_: Round | None) -> dict[int, int]:
    if round_ is None:
        return {}
    live = live_judgements(round=round_).order_by()
    return dict(live.values_list("item__dialogue_id").annotate(number=Count("pk")))


def _counted(values: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(values).items())
