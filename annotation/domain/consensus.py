"""From several judgements to one decision, by rules that are data. A tie stays a tie: nothing here tosses a coin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median as _median
from typing import ClassVar, TypeVar

from eqstudio.registry import Registry

T = TypeVar("T", bound=Hashable)
CERTAIN = 0.9
"""A value that Dawid-Skene holds for at least this likely is decided."""


def k_of_n(votes: Sequence[T], *, needed: int) -> T | None:
    """The one value with at least ``needed`` votes; None when no value has them, or when several do."""
    reached = [value for value, count in Counter(votes).items() if count >= needed]
    return reached[0] if len(reached) == 1 else None


def majority(votes: Sequence[T]) -> T | None:
    """The most frequent value; None when there is none or when several share the first place."""
    counted = Counter(votes)
    most = max(counted.values(), default=0)
    first = [value for value, count in counted.items() if count == most]
    return first[0] if len(first) == 1 else None


def median_grade(grades: Sequence[int]) -> float | None:
    """The median; with an even number of grades it may lie between two of them. None without grades."""
    return float(_median(grades)) if grades else None


def disagreement(votes: Sequence[Hashable]) -> float:
    """Share of votes that differ from the most frequent one; 0 without votes."""
    return 1.0 - max(Counter(votes).values()) / len(votes) if votes else 0.0


@dataclass(frozen=True)
class Context:
    """What a rule may need beside the votes: how many equal ones decide, and how likely each value is."""

    needed: int = 1
    likely: Mapping[Hashable, float] | None = None


class Rule:
    """A consensus rule. ``over`` says what it decides about; ``by_vote`` that equal votes are counted, so that chance can
    reach it; ``whole_round`` that it needs the likelihoods of a model over the round.
    """

    over: ClassVar[tuple[str, ...]] = ("verdict", "grade")
    by_vote: ClassVar[bool] = False
    whole_round: ClassVar[bool] = False

    def decide(self, votes: Sequence[Hashable], context: Context) -> Hashable | None:
        """The decision, or None where there is none."""
        raise NotImplementedError


class KOfN(Rule):
    """``needed`` equal votes."""

    by_vote = True

    def decide(self, votes: Sequence[Hashable], context: Context) -> Hashable | None:
        return k_of_n(votes, needed=context.needed)


class Majority(Rule):
    """The most frequent value."""

    by_vote = True

    def decide(self, votes: Sequence[Hashable], context: Context) -> Hashable | None:  # noqa: ARG002 -- needs no more
        return majority(votes)


class Median(Rule):
    """The middle grade, or the mean of the two middle ones."""

    over = ("grade",)

    def decide(self, votes: Sequence[Hashable], context: Context) -> Hashable | None:  # noqa: ARG002 -- needs no more
        return median_grade([int(str(vote)) for vote in votes])


class DawidSkeneRule(Rule):
    """What a model of every rater's confusions holds for certain."""

    whole_round = True

    def decide(self, votes: Sequence[Hashable], context: Context) -> Hashable | None:
        if not votes or not context.likely:
            return None
        value, share = max(context.likely.items(), key=lambda pair: (pair[1], str(pair[0])))
        return value if share >= CERTAIN else None


rules: Registry[Rule] = Registry(
    "consensus rule", {"k_of_n": KOfN, "majority": Majority, "median": Median, "dawid_skene": DawidSkeneRule}
)


def rules_over(what: str) -> list[str]:
    """Names of the rules that can decide about "verdict" or "grade"."""
    return [name for name, rule in rules.items() if what in rule.over]


def chance_of_agreement(*, people: int, needed: int, shares: Sequence[float]) -> float:
    """How often ``people`` independent random raters reach ``needed`` equal votes (0.203 for 3 of 4 over four grades).

    ``shares`` are the probabilities of the values. Exact, by adding one value at a time to the counts of the others.
    """
    weights = [1.0] + [0.0] * people
    factorial = [1.0]
    for number in range(1, people + 1):
        factorial.append(factorial[-1] * number)
    for share in shares:
        weights = [
            sum(weights[total - count] * share**count / factorial[count] for count in range(min(total, needed - 1) + 1))
            for total in range(people + 1)
        ]
    return 1.0 - weights[people] * factorial[people]


def chance_decided(*, people: int, needed: int, share: float) -> float:
    """How often ``needed`` of ``people`` random votes decide between two values, the first said with probability
    ``share``; where both reach it there is no decision.
    """
    return sum(
        comb(people, votes) * share**votes * (1 - share) ** (people - votes)
        for votes in range(people + 1)
        if (votes >= needed) != (people - votes >= needed)
    )
