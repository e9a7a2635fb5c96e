"""Named human baselines. Which one is meant is part of the figure: the mean person, the median, the best, a majority.

A majority of several people is never what one model's single answer should be held against without saying so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eqstudio.benchmarks.base import Metric, Score
from eqstudio.estimates import Estimate
from evaluation.domain.metrics import Sheet, majority
from evaluation.domain.resampling import Floats, Resampling, interval, ratio
from evaluation.domain.statistics import (
    FEW_CLUSTERS,
    FLIPS,
    POWER_Z,
    Comparison,
    alike_interval,
    cluster_sums,
    mean_estimate,
    rate_estimate,
    sign_flip_p,
)

NOBODY = "nobody has answered"
FEW_VOTERS = "a majority needs an item that three people have answered"
NO_PEERS = "no question was answered by three people"
VOTERS = 3


def person_means(matrix: Floats) -> Floats:
    """The mean of each person (row) over the items they answered; NaN for none."""
    asked = np.isfinite(matrix)
    return ratio(np.nansum(matrix, axis=1), asked.sum(axis=1))


def _drawn_means(matrix: Floats, resampling: Resampling) -> Floats:
    """Each person's mean in each replicate of items: replicates x people."""
    asked = np.isfinite(matrix).astype(float)
    return ratio(resampling.items @ np.nan_to_num(matrix).T, resampling.items @ asked.T)


def mean_person(matrix: Floats, resampling: Resampling) -> Estimate:
    """The mean over people of their means, persons and items resampled together (people x items; NaN: not answered).

    No interval from a single item. Where everybody is right on everything, or nobody on anything, resampling shows no
    spread; then Wilson over the items.
    """
    means = person_means(matrix)
    answered = int(np.isfinite(matrix).any(axis=0).sum()) if matrix.size else 0
    if answered == 0:
        return Estimate.undefined(NOBODY)
    value = float(np.nanmean(means))
    if answered == 1:
        return Estimate(value, None, None, 1)
    if value in {0.0, 1.0}:
        return rate_estimate(int(value) * answered, answered)
    return Estimate(value, *interval(crossed_means(matrix, resampling)), answered)


def weighted_person(matrix: Floats, weights: Floats, resampling: Resampling) -> Estimate:
    """As ``mean_person``, where every item counts by its weight (Hajek's ratio: sum of w x over sum of w of what was answered)."""
    asked = np.isfinite(matrix) * weights
    answered = int(np.isfinite(matrix).any(axis=0).sum()) if matrix.size else 0
    if answered == 0:
        return Estimate.undefined(NOBODY)
    weighed = np.nan_to_num(matrix) * weights
    value = float(np.nanmean(ratio(weighed.sum(axis=1), asked.sum(axis=1))))
    if answered == 1:
        return Estimate(value, None, None, 1)
    drawn = ratio(resampling.items @ weighed.T, resampling.items @ asked.T)
    people = resampling.people * np.isfinite(drawn)
    return Estimate(value, *interval(ratio((people * np.nan_to_num(drawn)).sum(axis=1), people.sum(axis=1))), answered)


def crossed_means(matrix: Floats, resampling: Resampling) -> Floats:
    """The mean person in each replicate of items and people (pigeonhole bootstrap)."""
    drawn = _drawn_means(matrix, resampling)
    weights = resampling.people * np.isfinite(drawn)
    return ratio((weights * np.nan_to_num(drawn)).sum(axis=1), weights.sum(axis=1))


def crossed_compare(
    people: Floats, other: Floats, clusters: Sequence[str], *, resampling: Resampling, rng: np.random.Generator
) -> Comparison:
    """People (people x items) against one respondent on the items both answered: persons and clusters of items are resampled
    together. One person shows no spread of people and one cluster none of items: then neither interval nor p.

    The p-value is the share of replicates on the other side of 0, doubled. Below 30 clusters, or where nothing varies, that is
    too sure: then it is no smaller than that of sign flips of the clusters, and ``test`` names the one that decided.
    """
    both = np.isfinite(other) & np.isfinite(people).any(axis=0) if people.size else np.zeros(len(other), dtype=bool)
    n = int(both.sum())
    if n == 0:
        return Comparison(Estimate.undefined("no item was answered by both"), None, "none")
    gaps = np.where(both, people - np.where(both, other, 0.0), np.nan)
    value = float(np.nanmean(person_means(gaps)))
    names = [name for name, is_both in zip(clusters, both, strict=True) if is_both]
    groups = len(set(names))
    if groups == 1:
        return Comparison(Estimate(value, None, None, n), None, "one cluster")
    if int(np.isfinite(gaps).any(axis=1).sum()) == 1:
        return Comparison(Estimate(value, None, None, n), None, "one person")
    means = crossed_means(gaps, resampling)
    means = np.round(means[np.isfinite(means)], 12)  # what cancels out is 0, in whatever order it was added up
    alike = bool(np.ptp(means) == 0)
    shares = set(np.unique(np.concatenate([people[np.isfinite(gaps)], other[both]]))) <= {0.0, 1.0}
    lo, hi = alike_interval(value, groups, shares=shares) if alike else interval(means)
    tail = min(float((means <= 0).mean()), float((means >= 0).mean()))
    p, test = min(1.0, 2 * (tail * len(means) + 1) / (len(means) + 1)), "bootstrap over people and items"
    if alike or groups < FEW_CLUSTERS:
        flipped = sign_flip_p(cluster_sums(np.nanmean(gaps[:, both], axis=0), names), rng=rng)
        if alike or flipped > p:
            p, test = flipped, FLIPS
    mde = None if alike else POWER_Z * float(means.std())
    return Comparison(Estimate(value, lo, hi, n), p, test, mde)


def median_person(matrix: Floats, resampling: Resampling) -> Estimate:
    """The median of people's means, with the same resampling."""
    means = person_means(matrix)
    known = np.isfinite(means)
    answered = int(np.isfinite(matrix).any(axis=0).sum()) if matrix.size else 0
    if not known.any():
        return Estimate.undefined(NOBODY)
    value = float(np.median(means[known]))
    if answered == 1 or known.sum() == 1:
        return Estimate(value, None, None, answered)
    drawn = _drawn_means(matrix[known], resampling)
    weights = resampling.people[:, known]
    return Estimate(value, *interval(_weighted_median(drawn, weights)), answered)


def _weighted_median(values: Floats, weights: Floats) -> Floats:
    """The median of each row, where a value counts as often as its weight; NaN values do not count."""
    weights = weights * np.isfinite(values)
    order = np.argsort(np.where(np.isfinite(values), values, np.inf), axis=1)
    values, weights = np.take_along_axis(values, order, axis=1), np.take_along_axis(weights, order, axis=1)
    total = weights.sum(axis=1, keepdims=True)
    run = np.cumsum(weights, axis=1)
    low = np.argmax(run >= total / 2, axis=1)
    high = np.argmax(run > total / 2, axis=1)
    rows = np.arange(len(values))
    middle = (values[rows, low] + values[rows, high]) / 2
    return np.where(total[:, 0] > 0, middle, np.nan)


def best_person(matrix: Floats, *, higher_is_better: bool = True) -> int | None:
    """The row of the person with the best mean, of those who answered at least half as many items as the median person; None
    when nobody answered. Where higher is not better, best is nearest to 0 (a bias may be negative).
    """
    counts = np.isfinite(matrix).sum(axis=1)
    if not counts.any():
        return None
    means = person_means(matrix)
    means[2 * counts < np.median(counts[counts > 0])] = np.nan
    return int(np.nanargmax(means) if higher_is_better else np.nanargmin(np.abs(means)))


def vote_figures(people: Sequence[Sheet], metric: Metric, items: Sequence[int]) -> dict[int, float]:
    """The metric of the people's majority on each question, on items that at least three have answered.

    A tie is no majority and counts as not right.
    """
    figures = {}
    for item in items:
        answers = [merged(sheet, item) for sheet in people if item in sheet.items]
        if len(answers) >= VOTERS:
            value = metric.item(majority(answers))
            if value is not None:
                figures[item] = value
    return figures


def merged(sheet: Sheet, item: int) -> Mapping[str, Score]:
    """A person's answers on one item; of several passes the first one counts."""
    runs = sheet.items[item]
    return runs[min(runs)]


@dataclass(frozen=True)
class Ceiling:
    """How far people agree with each other, which bounds what any figure against the key can mean.

    ``agreement``: one person's answer against the majority of the others; ``no_majority``: questions without one;
    ``against_key``: questions whose majority is not what the key says.
    """

    agreement: Estimate
    no_majority: Estimate
    against_key: Estimate

    def as_dict(self) -> dict[str, dict[str, object]]:
        return {
            "agreement": self.agreement.as_dict(),
            "no_majority": self.no_majority.as_dict(),
            "against_key": self.against_key.as_dict(),
        }


def ceiling(people: Sequence[Sheet], *, rng: np.random.Generator) -> Ceiling:
    """Human-human agreement over every question that at least three people have answered; the interval counts the answers
    about one item as a cluster.

    Grades agree when they are equal. Answers to a choice agree when both are right, or, between two options, both wrong; of
    more options two wrong answers are taken to differ, so agreement is then a lower bound.
    """
    hits: list[float] = []
    clusters: list[str] = []
    none = against = questions = 0
    for (item, _key), answers in _by_question(people).items():
        if len(answers) < VOTERS:
            continue
        questions += 1
        with_others = [_with_others(answers, place) for place in range(len(answers))]
        hits += [hit for hit in with_others if hit is not None]
        clusters += [str(item) for hit in with_others if hit is not None]
        winner = _majority_of(answers)
        none += winner is None
        against += winner is not None and winner[1] is False
    if not questions:
        return Ceiling(*(Estimate.undefined(NO_PEERS) for _ in range(3)))
    return Ceiling(
        mean_estimate(hits, clusters, rng=rng), rate_estimate(none, questions), rate_estimate(against, questions)
    )


Answer = tuple[str, bool | None]
"""What stands for an answer when answers are compared, and whether it is right."""


def _by_question(people: Sequence[Sheet]) -> dict[tuple[int, str], list[Answer]]:
    found: dict[tuple[int, str], list[Answer]] = {}
    for place, sheet in enumerate(people):
        for item in sheet.items:
            for key, score in merged(sheet, item).items():
                if score.correct is not None:
                    found.setdefault((item, key), []).append((_stands_for(score, place), score.correct))
    return found


def _stands_for(score: Score, person: int) -> str:
    if score.value is not None:
        return f"{score.value:g}"
    if score.correct:
        return "right"
    two = score.gold is None or score.gold >= 0.5  # noqa: PLR2004 -- the chance of guessing: one of two
    return "wrong" if two else f"wrong {person}"


def _with_others(answers: Sequence[Answer], place: int) -> float | None:
    winner = _majority_of([*answers[:place], *answers[place + 1 :]])
    return None if winner is None else float(winner[0] == answers[place][0])


def _majority_of(answers: Sequence[Answer]) -> Answer | None:
    counts: dict[Answer, int] = {}
    for answer in answers:
        counts[answer] = counts.get(answer, 0) + 1
    best, count = max(counts.items(), key=lambda pair: pair[1])
    return best if count * 2 > len(answers) else None
