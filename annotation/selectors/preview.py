"""What a recipe would take, rule by rule, before anything is frozen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from annotation.domain.curation import Choice, Offered, Recipe, Shortfall, Step, choice
from annotation.domain.curation.choosing import topic_entropy, topic_share
from annotation.selectors.split_agreement import SplitAgreement, said_agreement
from annotation.selectors.splits import Candidate, Sources, all_keys, candidates, fitting_keys

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
    on_offer = list(candidates(sources=sources, recipe=recipe, keys=keys))
    offered = on_offer
    fits = set(fitting_keys(keys, recipe, name=name))
    steps = [Step("offered", len(offered), 0)]
    if sources.rounds:
        offered = _step(steps, "outcome", offered, [one for one in offered if one.outcome == recipe.outcome])
    offered = _step(steps, "kind", offered, [one for one in offered if one.item.key in fits])
    chosen = choice([one.item for one in offered], recipe)
    before, after = _agreements(sources, recipe, on_offer, chosen)
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


def _step(steps: list[Step], rule: str, before: list[Candidate], after: list[Candidate]) -> list[Candidate]:
    kept = {one.item.key for one in after}
    removed = [one.item.uid for one in before if one.item.key not in kept]
    steps.append(Step(rule, len(after), len(removed), tuple(removed[:20])))
    return after


def _agreements(
    sources: Sources, recipe: Recipe, everything: list[Candidate], chosen: Choice
) -> tuple[SplitAgreement | None, SplitAgreement | None]:
    if not sources.rounds:
        return None, None
    said = [(one.item.key, one.said) for one in everything]
    taken = {item.key for item in chosen.items}
    return said_agreement(said, recipe), said_agreement([one for one in said if one[0] in taken], recipe)


def _benchmarks(items: list[Offered]) -> Counted:
    return _counted(item.benchmark for item in items)


def _counted(values: Iterable[str]) -> Counted:
    return sorted(Counter(values).items())
