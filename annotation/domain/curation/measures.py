"""What people's judgements say of an item: do they agree, does it tell renditions apart, how hard is it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean, median

GRADE_SPAN = 3
"""From grade 1 to grade 4."""
_PAIR = 2
_LINE = 3


def verdict_agreement(votes: Sequence[str]) -> float | None:
    """The share of people who gave the most frequent verdict; None with fewer than two people."""
    return max(Counter(votes).values()) / len(votes) if len(votes) >= _PAIR else None


def grade_spread(grades: Mapping[str, Sequence[int]]) -> float | None:
    """From the lowest to the highest median grade of an item's renditions, in grades; None with fewer than two."""
    medians = [median(given) for given in grades.values() if given]
    return float(max(medians) - min(medians)) if len(medians) >= _PAIR else None


def difficulty(votes: Sequence[str], grades: Mapping[str, Sequence[int]]) -> float | None:
    """How far apart people are, 0-1: the mean distance of two people's grades of a rendition over the span of the scale,
    and without such grades the share of people outside the most frequent verdict.
    """
    distances = [abs(a - b) for given in grades.values() for a, b in combinations(given, 2)]
    if distances:
        return fmean(distances) / GRADE_SPAN
    agreed = verdict_agreement(votes)
    return None if agreed is None else 1 - agreed


def item_rest(scores: Mapping[int, float], totals: Mapping[int, tuple[float, int]]) -> float | None:
    """Pearson's r, over people, between their mean grade of this item (``scores``) and of all others, from ``totals``: the
    sum of a person's item means and their number. None with fewer than three people, or when either does not vary.
    """
    pairs = [
        (score, (totals[person][0] - score) / (totals[person][1] - 1))
        for person, score in scores.items()
        if totals.get(person, (0.0, 0))[1] > 1
    ]
    if len(pairs) < _LINE:
        return None
    mean_x, mean_y = fmean(x for x, _ in pairs), fmean(y for _, y in pairs)
    xx = sum((x - mean_x) ** 2 for x, _ in pairs)
    yy = sum((y - mean_y) ** 2 for _, y in pairs)
    if xx < 1e-12 or yy < 1e-12:  # noqa: PLR2004 -- no variation
        return None
    return sum((x - mean_x) * (y - mean_y) for x, y in pairs) / math.sqrt(xx * yy)
