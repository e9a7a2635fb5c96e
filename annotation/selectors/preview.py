"""What a recipe would take, rule by rule, before anything is frozen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from annotation.domain.curation import Offered, Recipe, Shortfall, Step, choice
from annotation.domain.curation.choosing import topic_entropy, topic_share
from annotation.selectors.split_agreement import SaidRatings, SplitAgreement
from annotation.selectors.splits import Sources, all_keys, candidates, fitting_keys

PREVIEWED = 10_000
"""A preview reads so many items at most; with more, the page says that it is of the first so many."""
Counted = list[tuple[str, int]]


@dataclass(frozen=True)
class Preview:
    """``steps`` go from everything on offer to what would be frozen; the counters are of the latter.

    ``before`` and ``after`` are the agreement over everything on offer and over what would be frozen.
    """

    steps: list[Step]
    size: int
    total: int
    benchmarks: Counted
    counts: dict[str, Counted] = field(default_factory=dict)
    sides: Counted = field(default_factory=list)
    shortfalls: list[Shortfall] = field(default_factory=list)
    before: SplitAgreement | None = None
    after: SplitAgreement | None = None
    topic_share: float | None = None
    topic_entropy: float | None = None

    @property
    def partial(self) -> bool:
        return self.total > PREVIEWED


def split_preview(*, sources: Sources, recipe: Recipe, name: str = "") -> Preview:
    """How many items each rule of a recipe removes, what is left and of which kinds, and what is short.

    Four queries per 500 items, for 10,000 items at most.
    """
    everything = all_keys(sources)
    keys = everything[:PREVIEWED]
    offered, outcomes, ratings = _read(sources, recipe, keys)
    fits = set(fitting_keys(keys, recipe, name=name))
    steps = [Step("offered", len(offered), 0)]
    if sources.rounds:
        offered = _step(
            steps, "outcome", offered, {key for key, outcome in outcomes.items() if outcome == recipe.outcome}
        )
    offered = _step(steps, "kind", offered, fits)
    chosen = choice(offered, recipe)
    before, after = None, None
    if sources.rounds:
        before = ratings.agreement(recipe)
        after = ratings.agreement(recipe, [item.key for item in chosen.items])
    return Preview(
        steps=[*steps, *chosen.steps],
        size=len(chosen.items),
        total=len(everything),
        benchmarks=_benchmarks(chosen.items),
        counts={name: _counted(getattr(item, name) for item in chosen.items) for name in COUNTED},
        sides=_counted(chosen.sides.values()),
        shortfalls=chosen.shortfalls,
        before=before,
        after=after,
        topic_share=topic_share(chosen.items),
        topic_entropy=topic_entropy(chosen.items),
    )


COUNTED = ("category", "language", "valence", "source", "grade", "voice")


def _read(sources: Sources, recipe: Recipe, keys: list[int]) -> tuple[list[Offered], dict[int, str], SaidRatings]:
    offered, outcomes, ratings = [], {}, SaidRatings()
    for one in candidates(sources=sources, recipe=recipe, keys=keys):
        offered.append(one.item)
        outcomes[one.item.key] = one.outcome
        ratings.add(one.item.key, one.said)
    return offered, outcomes, ratings


def _step(steps: list[Step], rule: str, before: list[Offered], kept: set[int]) -> list[Offered]:
    after = [item for item in before if item.key in kept]
    removed = [item.uid for item in before if item.key not in kept]
    steps.append(Step(rule, len(after), len(removed), tuple(removed[:20])))
    return after


def _benchmarks(items: list[Offered]) -> Counted:
    return _counted(item.benchmark for item in items)


def _counted(values: Iterable[str]) -> Counted:
    return sorted(Counter(values).items())
