"""From several judgements to one decision. A tie stays a tie: nothing here tosses a coin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from statistics import median as _median
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


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
