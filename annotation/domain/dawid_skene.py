"""Dawid and Skene 1979: how common each value is, how each rater confuses them, and what each item most likely is.

Expectation-maximisation in log space, started from the shares of votes. Ratings may repeat (one rater, several readings).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.domain.bootstrap import Floats, Ints

ITERATIONS = 200
TOLERANCE = 1e-6
SMOOTHING = 0.01
"""Added to every cell of a confusion matrix, so that one that was never used rules nothing out."""


@dataclass(frozen=True)
class DawidSkene:
    """``priors`` (values) and ``confusion`` (raters x true value x value given) as probabilities, ``posterior``
    (items x values), how many ``iterations`` it took and whether it ``converged``.
    """

    priors: Floats
    confusion: Floats
    posterior: Floats
    iterations: int
    converged: bool


def dawid_skene(
    *,
    item: Ints,
    rater: Ints,
    value: Ints,
    values: int,
    iterations: int = ITERATIONS,
    tolerance: float = TOLERANCE,
    smoothing: float = SMOOTHING,
) -> DawidSkene:
    """Fit the model to ratings given as codes 0.. of item, rater and value; at least one rating."""
    items, raters = int(item.max()) + 1, int(rater.max()) + 1
    votes = np.bincount(item * values + value, minlength=items * values).reshape(items, values).astype(np.float64)
    posterior = votes / votes.sum(axis=1, keepdims=True)
    cell = rater * values + value
    done, converged = 0, False
    while done < iterations and not converged:
        priors, confusion = _maximised(posterior, item, cell, (raters, values), smoothing)
        updated = _expected(priors, confusion, item, cell, items)
        converged = float(np.abs(updated - posterior).max()) < tolerance
        posterior, done = updated, done + 1
    priors, confusion = _maximised(posterior, item, cell, (raters, values), smoothing)
    return DawidSkene(priors, confusion, posterior, done, converged)


def _maximised(
    posterior: Floats, item: Ints, cell: Ints, shape: tuple[int, int], smoothing: float
) -> tuple[Floats, Floats]:
    raters, values = shape
    given = np.stack(
        [np.bincount(cell, weights=posterior[item, true], minlength=raters * values) for true in range(values)]
    )
    counted = given.reshape(values, raters, values).transpose(1, 0, 2) + smoothing
    return posterior.mean(axis=0), counted / counted.sum(axis=2, keepdims=True)


def _expected(priors: Floats, confusion: Floats, item: Ints, cell: Ints, items: int) -> Floats:
    values = len(priors)
    by_cell = np.log(confusion).transpose(0, 2, 1).reshape(-1, values)[cell]
    likelihood = np.stack(
        [np.bincount(item, weights=by_cell[:, true], minlength=items) for true in range(values)], axis=1
    )
    scores = likelihood + np.log(np.maximum(priors, 1e-300))
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))
