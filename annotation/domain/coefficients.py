"""Coefficients of agreement as functions of resampling weights: one row of weights, one value (nan where undefined).

With weights of one the functions give the published coefficients; with Multinomial weights, their bootstrap replicates.
Formulas: Krippendorff 2011 (alpha), Gwet 2014 (percent agreement, AC1, AC2, Fleiss, Brennan-Prediger, Conger with missing
ratings), Cohen 1968 (weighted kappa, here averaged over pairs of raters), McGraw and Wong 1996 (ICC).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from annotation.domain.bootstrap import Floats, Ints, Statistic
from annotation.domain.ratings import MISSING, Codes

PAIR = 2
_TINY = 1e-12


def quadratic_weights(numbers: Floats) -> Floats:
    """1 on the diagonal, falling with the squared distance to 0 at the ends of the scale."""
    span = float(numbers.max() - numbers.min())
    if span == 0:
        return np.ones((len(numbers), len(numbers)))
    return np.asarray(1.0 - ((numbers[:, None] - numbers[None, :]) / span) ** 2, dtype=np.float64)


def _divide(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(bottom > _TINY, top / bottom, np.nan)


# Krippendorff's alpha


def alpha(counts: Floats, level: str, numbers: Floats | None) -> Statistic:
    """Alpha over kinds of item (kinds x values)."""
    people = counts.sum(axis=1)
    share = np.where(people >= PAIR, 1.0 / np.maximum(people - 1, 1), 0.0)
    values = counts.shape[1]
    each = counts[:, :, None] * (counts[:, None, :] - np.eye(values)) * share[:, None, None]
    together = each.reshape(len(counts), values * values)

    def statistic(weights: Floats) -> Floats:
        coincidences = (weights @ together).reshape(len(weights), values, values)
        marginals = coincidences.sum(axis=2)
        distance = _distance(level, marginals, numbers)
        total = marginals.sum(axis=1)
        observed = (coincidences * distance).sum(axis=(1, 2))
        expected = (marginals[:, :, None] * marginals[:, None, :] * distance).sum(axis=(1, 2))
        return np.asarray(1.0 - _divide(observed * (total - 1), expected))

    return statistic


def _distance(level: str, marginals: Floats, numbers: Floats | None) -> Floats:
    """Squared distances between values; the ordinal ones depend on how often values occur, so they differ by replicate."""
    if level == "ordinal":
        ranks = np.cumsum(marginals, axis=1) - marginals / 2.0
        return np.asarray((ranks[:, :, None] - ranks[:, None, :]) ** 2)
    if level == "nominal" or numbers is None:
        return np.asarray(1.0 - np.eye(marginals.shape[1]))
    difference = numbers[:, None] - numbers[None, :]
    if level == "interval":
        return np.asarray(difference**2)
    together = numbers[:, None] + numbers[None, :]
    return np.asarray(np.divide(difference, together, out=np.zeros_like(difference), where=together != 0) ** 2)


# Observed agreement corrected for chance


Chance = Callable[[Floats, Floats], Floats]
"""From shares of values (replicates x values) and the weight matrix to the agreement expected by chance."""


def chance_fleiss(shares: Floats, agree: Floats) -> Floats:
    return np.asarray(np.einsum("rv,vw,rw->r", shares, agree, shares))


def chance_gwet(shares: Floats, agree: Floats) -> Floats:
    values = shares.shape[1]
    if values == 1:
        return np.ones(len(shares))
    return np.asarray(agree.sum() / (values * (values - 1)) * (shares * (1 - shares)).sum(axis=1))


def chance_uniform(shares: Floats, agree: Floats) -> Floats:
    return np.full(len(shares), agree.mean())


def corrected(counts: Floats, agree: Floats, chance: Chance | None) -> Statistic:
    """Percent agreement with partial credit ``agree``, less what ``chance`` gives (None: not corrected)."""
    people = counts.sum(axis=1)
    pairable = (people >= PAIR).astype(np.float64)
    together = (counts * (counts @ agree - 1.0)).sum(axis=1)
    observed = np.where(people >= PAIR, together / np.maximum(people * (people - 1), 1), 0.0)
    shares = counts / np.maximum(people, 1)[:, None]

    def statistic(weights: Floats) -> Floats:
        seen = _divide(weights @ observed, weights @ pairable)
        if chance is None:
            return seen
        by_chance = chance((weights @ shares) / weights.sum(axis=1)[:, None], agree)
        return _divide(seen - by_chance, 1.0 - by_chance)

    return statistic


# Coefficients that know who rated


@dataclass(frozen=True)
class PairTables:
    """How each pair of raters with common items crossed: a sparse matrix kinds x (pairs * values * values)."""

    cells: sparse.csr_matrix
    pairs: int
    values: int


def pair_tables(matrix: Codes, values: int) -> PairTables:
    """Cross every pair of raters on the items both rated (rows of ``matrix`` are items or kinds of item)."""
    rows: list[Ints] = []
    keys: list[Ints] = []
    for people, members in _by_number_of_raters(matrix).items():
        if people < PAIR:
            continue
        raters = np.nonzero(matrix[members] != MISSING)[1].reshape(len(members), people)
        coded = np.take_along_axis(matrix[members], raters, axis=1).astype(np.int64)
        for first, second in combinations(range(people), 2):
            pair = raters[:, first] * matrix.shape[1] + raters[:, second]
            rows.append(members)
            keys.append(np.stack([pair, coded[:, first] * values + coded[:, second]]))
    if not rows:
        return PairTables(sparse.csr_matrix((len(matrix), 0)), 0, values)
    pair, cell = np.concatenate(keys, axis=1)
    names, place = np.unique(pair, return_inverse=True)
    column = place * values * values + cell
    shape = (len(matrix), len(names) * values * values)
    cells = sparse.csr_matrix((np.ones(len(column)), (np.concatenate(rows), column)), shape=shape)
    return PairTables(cells, len(names), values)


def _by_number_of_raters(matrix: Codes) -> dict[int, Ints]:
    people = (matrix != MISSING).sum(axis=1)
    return {int(number): np.nonzero(people == number)[0] for number in np.unique(people)}


def cohen(tables: PairTables, agree: Floats) -> Statistic:
    """Cohen's kappa with partial credit ``agree``, averaged over pairs of raters, weighted by their common items.

    Pairs whose kappa is undefined (both used one and the same value) are left out.
    """

    def statistic(weights: Floats) -> Floats:
        flat = np.asarray((tables.cells.T @ weights.T).T)
        crossed = flat.reshape(len(weights), tables.pairs, tables.values, tables.values)
        common = crossed.sum(axis=(2, 3))
        observed = _divide((crossed * agree).sum(axis=(2, 3)), common)
        first, second = crossed.sum(axis=3), crossed.sum(axis=2)
        by_chance = _divide(np.einsum("rpv,vw,rpw->rp", first, agree, second), common**2)
        kappa = _divide(observed - by_chance, 1.0 - by_chance)
        usable = np.isfinite(kappa)
        return _divide((np.where(usable, kappa, 0.0) * common).sum(axis=1), (common * usable).sum(axis=1))

    return statistic


def conger(matrix: Codes, counts: Floats) -> Statistic:
    """Conger's kappa: Fleiss's, with the chance agreement of raters who have marginals of their own."""
    people, values = matrix.shape[1], counts.shape[1]
    item, rater = np.nonzero(matrix != MISSING)
    column = rater * values + matrix[item, rater]
    given = sparse.csr_matrix((np.ones(len(item)), (item, column)), shape=(len(matrix), people * values))
    observed = corrected(counts, np.eye(values), None)

    def statistic(weights: Floats) -> Floats:
        by_rater = np.asarray((given.T @ weights.T).T).reshape(len(weights), people, values)
        total = by_rater.sum(axis=2, keepdims=True)
        shares = np.divide(by_rater, total, out=np.zeros_like(by_rater), where=total > 0)
        present = (total[:, :, 0] > 0).sum(axis=1).astype(np.float64)
        squared = (shares.sum(axis=1) ** 2 - (shares**2).sum(axis=1)).sum(axis=1)
        by_chance = _divide(squared, present * (present - 1))
        return _divide(observed(weights) - by_chance, 1.0 - by_chance)

    return statistic


def icc(table: Floats, form: str) -> Statistic:
    """Intraclass correlation from two-way mean squares over items (rows) that every rater (column) rated.

    ``form`` is 1 (one-way), a (absolute agreement) or c (consistency), with _1 for one rater or _k for their mean.
    """
    people = table.shape[1]
    means = table.mean(axis=1)

    def statistic(weights: Floats) -> Floats:
        items = weights.sum(axis=1)  # a replicate may hold no complete item: then all of this is undefined
        with np.errstate(invalid="ignore", divide="ignore"):
            column = (weights @ table) / items[:, None]
            grand = column.mean(axis=1)
            total = weights @ (table**2).sum(axis=1) - items * people * grand**2
            rows = people * (weights @ means**2 - items * grand**2)
            columns = items * ((column - grand[:, None]) ** 2).sum(axis=1)
            between = rows / (items - 1)
            within = (total - rows) / (items * (people - 1))
            raters = columns / (people - 1)
            error = (total - rows - columns) / ((items - 1) * (people - 1))
            return _icc_form(form, between, within, raters, error, items, people)

    return statistic


def _icc_form(  # noqa: PLR0917 -- the mean squares of one table
    form: str, between: Floats, within: Floats, raters: Floats, error: Floats, items: Floats, people: int
) -> Floats:
    spread = raters - error
    tops = {"1": between - within, "a": between - error, "c": between - error}
    bottoms = {
        "1_1": between + (people - 1) * within,
        "a_1": between + (people - 1) * error + people * spread / items,
        "c_1": between + (people - 1) * error,
        "1_k": between,
        "a_k": between + spread / items,
        "c_k": between,
    }
    return _divide(tops[form[0]], bottoms[form])
