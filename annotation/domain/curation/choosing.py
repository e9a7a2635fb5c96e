"""From items on offer to the items a recipe takes, rule by rule, with what each rule removes and what is short."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from annotation.domain.curation.recipe import EVERY, Recipe
from annotation.domain.curation.sides import side_of

NAMED = 20
"""So many removed items are named; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Offered:
    """One item that may go into a split. ``identity`` is its content hash: the same on every machine.

    ``agreement`` 0-1, ``spread`` 0-3 grade points, ``item_rest`` -1-1 and ``difficulty`` 0-1 are None where people said too
    little to tell. ``groups`` maps kinds of group to the groups the item is in.
    """

    key: int
    identity: str
    category: str
    people: int = 0
    uid: str = ""
    language: str = ""
    valence: str = ""
    source: str = ""
    benchmark: str = ""
    voice: str = ""
    grade: str = ""
    topic: str = ""
    agreement: float | None = None
    spread: float | None = None
    item_rest: float | None = None
    difficulty: float | None = None
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def group_keys(self, kinds: Iterable[str]) -> list[str]:
        """The indivisible groups it is in; it is its own group when it is in none."""
        found = [f"{kind}:{name}" for kind in kinds for name in self.groups.get(kind, ())]
        return found or [f"item:{self.identity}"]


@dataclass(frozen=True)
class Step:
    """A rule, the items it left, how many it removed, and the ids of the first of those."""

    rule: str
    left: int
    removed: int
    named: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shortfall:
    """What a recipe asked for and did not get: ``rule`` of ``value``, ``wanted`` against ``got``."""

    rule: str
    value: str
    wanted: float
    got: float

    def as_dict(self) -> dict[str, str | float]:
        return {"rule": self.rule, "value": self.value, "wanted": self.wanted, "got": self.got}


@dataclass(frozen=True)
class Choice:
    """The items a recipe takes in the stable order of category and content, and the side of each by key."""

    items: list[Offered]
    sides: dict[int, str]
    steps: list[Step]
    shortfalls: list[Shortfall]


def choose(items: Sequence[Offered], recipe: Recipe) -> list[Offered]:
    return choice(items, recipe).items


def choice(items: Iterable[Offered], recipe: Recipe) -> Choice:
    """Apply every rule that is asked for, one after the other. Limits take items by content hash, which knows nothing of
    quality, people or the order in which items were made.
    """
    left = sorted(items, key=lambda item: (item.identity, item.key))
    steps: list[Step] = []
    sides: dict[int, str] = {}
    for rule, wanted, fits in _rules(recipe):
        if wanted:
            left = _step(steps, rule, left, [item for item in left if fits(item)])
    for item in left:
        side = side_of(item.group_keys(recipe.indivisible), dev=recipe.dev, train=recipe.train, seed=recipe.seed)
        if side is not None:
            sides[item.key] = side
    if recipe.dev or recipe.train:
        left = _step(steps, "sides", left, [item for item in left if item.key in sides])
    for rule, wanted, limit in _limits(recipe):
        if wanted:
            left = _step(steps, rule, left, limit(left, recipe))
    left = sorted(left, key=lambda item: (item.category, item.identity, item.key))
    if len(left) < len(sides):
        sides = {item.key: sides[item.key] for item in left}
    return Choice(left, sides, steps, shortfalls(left, recipe))


def _step(steps: list[Step], rule: str, before: list[Offered], after: list[Offered]) -> list[Offered]:
    kept = {item.key for item in after}
    removed = [item for item in before if item.key not in kept]
    steps.append(Step(rule, len(after), len(removed), tuple(item.uid or str(item.key) for item in removed[:NAMED])))
    return after


Rule = tuple[str, bool, Callable[[Offered], bool]]


def _rules(recipe: Recipe) -> list[Rule]:
    """Rules that look at one item: name, whether it is asked for, and which items it lets through."""

    def least(name: str, wanted: float) -> Callable[[Offered], bool]:
        return lambda item: (found := getattr(item, name)) is not None and found >= wanted - 1e-9

    band = recipe.difficulty_from > 0 or recipe.difficulty_to < 1
    return [
        ("people", recipe.minimum_people > 0, lambda item: item.people >= recipe.minimum_people),
        ("agreement", recipe.minimum_agreement > 0, least("agreement", recipe.minimum_agreement)),
        ("spread", recipe.minimum_spread > 0, least("spread", recipe.minimum_spread)),
        ("item_rest", recipe.minimum_item_rest > -1, least("item_rest", recipe.minimum_item_rest)),
        (
            "difficulty",
            band,
            lambda item: (
                item.difficulty is not None and recipe.difficulty_from <= item.difficulty <= recipe.difficulty_to
            ),
        ),
    ]


Limit = tuple[str, bool, Callable[[list[Offered], Recipe], list[Offered]]]


def _limits(recipe: Recipe) -> list[Limit]:
    """Rules that look at all items together."""
    return [
        ("targets", bool(recipe.targets or recipe.per_category), _within_targets),
        ("topics", recipe.largest_topic_share > 0, _within_topics),
        ("size", recipe.size > 0, _within_size),
    ]


def _targeted(recipe: Recipe) -> list[str]:
    return sorted({*recipe.targets, *(["category"] if recipe.per_category else [])})


def _within_targets(items: list[Offered], recipe: Recipe) -> list[Offered]:
    names = _targeted(recipe)
    counted: Counter[tuple[str, str]] = Counter()
    taken = []
    for item in items:
        values = [(name, getattr(item, name)) for name in names]
        limits = [(pair, recipe.target(*pair)) for pair in values]
        if all(limit is None or counted[pair] < limit for pair, limit in limits):
            counted.update(values)
            taken.append(item)
    return taken


def _within_topics(items: list[Offered], recipe: Recipe) -> list[Offered]:
    """At most that share of the result of any topic. Items without a topic are no topic together."""
    counts = Counter(item.topic for item in items if item.topic)
    loose = sum(not item.topic for item in items)
    total = min(recipe.size or len(items), len(items))
    while True:
        cap = max(1, math.floor(recipe.largest_topic_share * total + 1e-9))
        possible = loose + sum(min(count, cap) for count in counts.values())
        if possible >= total:
            break
        total = possible
    counted: Counter[str] = Counter()
    taken = []
    for item in items:
        counted[item.topic] += 1
        if not item.topic or counted[item.topic] <= cap:
            taken.append(item)
    return taken


def _within_size(items: list[Offered], recipe: Recipe) -> list[Offered]:
    """The first by content hash; with ``balance`` one of each combination of values in turn."""
    if not recipe.balance:
        return items[: recipe.size]
    cells: dict[tuple[str, ...], list[Offered]] = defaultdict(list)
    for item in items:
        cells[tuple(str(getattr(item, name)) for name in recipe.balance)].append(item)
    turns = [(place, cell, item) for cell, found in cells.items() for place, item in enumerate(found)]
    turns.sort(key=lambda turn: turn[:2])
    return [item for _place, _cell, item in turns[: recipe.size]]


def shortfalls(items: Sequence[Offered], recipe: Recipe) -> list[Shortfall]:
    """Every number the recipe asked for that the items do not reach."""
    found = []
    if recipe.size and len(items) < recipe.size:
        found.append(Shortfall("size", "", recipe.size, len(items)))
    for name in _targeted(recipe):
        counts = Counter(getattr(item, name) for item in items)
        values = {*counts, *recipe.targets.get(name, {})} - {EVERY}
        for value in sorted(values):
            wanted = recipe.target(name, value)
            if wanted is not None and counts[value] < wanted:
                found.append(Shortfall(name, value, wanted, counts[value]))
    largest, entropy = topic_share(items), topic_entropy(items)
    if recipe.largest_topic_share and largest is not None and largest > recipe.largest_topic_share + 1e-9:
        found.append(Shortfall("largest_topic_share", "", recipe.largest_topic_share, round(largest, 4)))
    if recipe.topic_entropy_at_least and (entropy or 0.0) < recipe.topic_entropy_at_least - 1e-9:
        found.append(Shortfall("topic_entropy", "", recipe.topic_entropy_at_least, round(entropy or 0.0, 4)))
    return found


def topic_share(items: Sequence[Offered]) -> float | None:
    """The share of the most frequent topic; None when no item has one."""
    counts = Counter(item.topic for item in items if item.topic)
    return max(counts.values()) / len(items) if counts else None


def topic_entropy(items: Sequence[Offered]) -> float | None:
    """Shannon entropy of the topics over its maximum for as many topics, 0-1; None when no item has one."""
    counts = Counter(item.topic for item in items if item.topic)
    total = sum(counts.values())
    if not total:
        return None
    if len(counts) == 1:
        return 0.0
    return -sum(count / total * math.log(count / total) for count in counts.values()) / math.log(len(counts))
