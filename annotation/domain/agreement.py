"""Agreement: the one function behind every page, API answer and command.

From a long table of ratings to Estimates. An interval is the percentile interval of an item bootstrap (of a cluster
bootstrap when clusters are given; with a single cluster there is nothing to draw and no interval); ``n`` is the number of items with at least two ratings. What cannot be said is undefined
with its reason, never 0 or 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from annotation.domain import coefficients as co
from annotation.domain.bootstrap import REPLICATES, Floats, Ints, Kinds, Statistic, estimate, kinds, weights
from annotation.domain.ratings import MISSING, Coded, Codes, Rating, Value, coded
from eqstudio.estimates import Estimate

NOMINAL = ("alpha_nominal", "percent_agreement", "ac1", "fleiss", "conger", "brennan_prediger", "cohen_kappa")
ICC = ("icc_1_1", "icc_a_1", "icc_c_1", "icc_1_k", "icc_a_k", "icc_c_k")
ORDERED = ("alpha_ordinal", "alpha_interval", "alpha_ratio", "ac2", "qwk", *ICC)
NAMES = NOMINAL + ORDERED

NO_RATINGS = "no ratings"
FEW_RATERS = "fewer than two raters"
NO_OVERLAP = "no item has two ratings"
NO_VARIATION = "no variation"
WORDS = "the values are words, without order or distance"
IS_NOMINAL = "the scale is nominal, without order or distance"
INCOMPLETE = "no two items were rated by everybody"
BELOW_ZERO = "a ratio scale has no values below zero"

FEW_COMMON = "pairs of raters have too few items in common"

CHANCE: Mapping[str, co.Chance | None] = {
    "percent_agreement": None,
    "ac1": co.chance_gwet,
    "ac2": co.chance_gwet,
    "fleiss": co.chance_fleiss,
    "brennan_prediger": co.chance_uniform,
}

_COMMON = 5
"""Common items an average pair of raters must have: with fewer, a kappa per pair is noise and its interval biased."""
_PAIR_CELLS = 200_000_000
_KEPT_CELLS = 5_000_000
_FEW = 30
"""Up to so many raters, items are grouped by who gave what; with more, hardly any two items are alike."""


@dataclass(frozen=True)
class Agreement:
    """How far raters agree, with what it rests on."""

    items: int
    ratings: int
    raters: int
    estimates: Mapping[str, Estimate]

    def as_dict(self) -> dict[str, Any]:
        return {
            "items": self.items,
            "ratings": self.ratings,
            "raters": self.raters,
            "estimates": {name: found.as_dict() for name, found in self.estimates.items()},
        }


def agreement(
    ratings: Iterable[Rating],
    *,
    domain: Sequence[Value] | None = None,
    level: str = "",
    clusters: Mapping[Hashable, Hashable] | None = None,
    names: Sequence[str] = NAMES,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Agreement:
    """Every coefficient in ``names`` for a long table of ratings.

    ``domain`` is the whole scale (its unused values matter to AC1, AC2, QWK and Brennan-Prediger); without it the values
    that occur are the scale. ``level`` "nominal" says that numbers are mere names. ``clusters`` gives each item the group
    (dialogue, template, speaker) in which it is resampled.
    """
    table = coded(ratings, domain)
    numbered = _cluster_codes(table, clusters)
    return agreement_of(table, level=level, clusters=numbered, names=names, replicates=replicates, seed=seed)


def agreement_of(
    table: Coded,
    *,
    level: str = "",
    clusters: Ints | None = None,
    names: Sequence[str] = NAMES,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> Agreement:
    """``agreement`` for a table that is coded already; ``clusters`` numbers its items 0..G-1."""
    counts = table.counts()
    size = int((counts.sum(axis=1) >= co.PAIR).sum())
    blocked = _blocked(table, size)
    found: dict[str, Estimate] = {}
    work = None if blocked else _Work(table, counts, clusters=clusters, replicates=replicates, seed=seed)
    for name in names:
        reason = blocked or _not_for_words(name, table, level)
        found[name] = Estimate.undefined(reason, n=size) if work is None or reason else work.estimate(name)
    return Agreement(items=len(table.items), ratings=int(counts.sum()), raters=len(table.raters), estimates=found)


def _blocked(table: Coded, size: int) -> str:
    if not len(table.items):
        return NO_RATINGS
    if len(table.raters) < co.PAIR:
        return FEW_RATERS
    return "" if size else NO_OVERLAP


def _not_for_words(name: str, table: Coded, level: str) -> str:
    if name not in ORDERED:
        return ""
    if level == "nominal":
        return IS_NOMINAL
    in_order = name == "alpha_ordinal" and table.ordered
    return WORDS if table.numbers is None and not in_order else ""


def _cluster_codes(table: Coded, clusters: Mapping[Hashable, Hashable] | None) -> Ints | None:
    if clusters is None:
        return None
    names = [clusters.get(item, item) for item in table.items]
    place = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return np.asarray([place[name] for name in names], dtype=np.int64)


class _Draws:
    """Resampled weights over the kinds of one grouping of the items: drawn once, used by every coefficient that fits."""

    def __init__(self, found: Kinds, clusters: Ints | None, *, replicates: int, seed: int) -> None:
        self.found = found
        self.clusters = clusters
        self.replicates = replicates
        self.seed = seed
        self._kept: list[Floats] | None = None

    def values(self, statistic: Statistic, *, at_most: int) -> Floats:
        replicates = min(self.replicates, at_most)
        if replicates < self.replicates or self.replicates * len(self.found.occurs) > _KEPT_CELLS:
            blocks = weights(self.found, self.clusters, replicates=replicates, seed=self.seed)
            return np.concatenate([statistic(block) for block in blocks])
        if self._kept is None:
            self._kept = list(weights(self.found, self.clusters, replicates=replicates, seed=self.seed))
        return np.concatenate([statistic(block) for block in self._kept])


class _Work:
    """One table, its kinds of item, and the resampling of both."""

    def __init__(self, table: Coded, counts: Ints, *, clusters: Ints | None, replicates: int, seed: int) -> None:
        self.table = table
        self.people = counts.sum(axis=1)
        self.size = int((self.people >= co.PAIR).sum())
        self.all_counts = counts
        self.varies = (counts[self.people >= co.PAIR].sum(axis=0) > 0).sum() > 1
        paired = None if clusters is None else clusters[self.people >= co.PAIR]
        self.one_cluster = paired is not None and len(paired) > 0 and bool((paired == paired[0]).all())
        self._draws = partial(_Draws, clusters=clusters, replicates=replicates, seed=seed)

    @cached_property
    def alike(self) -> _Draws:
        """Items grouped by how often they got which value."""
        return self._draws(kinds(self.all_counts))

    @cached_property
    def counts(self) -> Floats:
        return self.all_counts[self.alike.found.first].astype(np.float64)

    @cached_property
    def rows(self) -> _Draws:
        """Items grouped by who gave what; with many raters hardly any two are alike, and each is a kind of its own."""
        few = len(self.table.raters) <= _FEW
        return self._draws(kinds(self.table.matrix) if few else _each(len(self.people)))

    @cached_property
    def matrix(self) -> Codes:
        return self.table.matrix[self.rows.found.first]

    def estimate(self, name: str) -> Estimate:
        if name in ICC:
            return self._icc(name.removeprefix("icc_"))
        if name in ("conger", "cohen_kappa", "qwk"):
            return self._by_rater(name)
        return self._by_counts(name)

    def _by_counts(self, name: str) -> Estimate:
        if name.startswith("alpha_"):
            return self._alpha(name.removeprefix("alpha_"))
        agree = co.quadratic_weights(self._numbers()) if name == "ac2" else np.eye(self.counts.shape[1])
        return self._estimate(co.corrected(self.counts, agree, CHANCE[name]), self.alike)

    def _alpha(self, level: str) -> Estimate:
        if not self.varies:
            return Estimate.undefined(NO_VARIATION, n=self.size)
        if level == "ratio" and self._numbers().min() < 0:
            return Estimate.undefined(BELOW_ZERO, n=self.size)
        used = self.all_counts.sum(axis=0) > 0
        numbers = None if self.table.numbers is None else self.table.numbers[used]
        statistic = co.alpha(self.counts[:, used], level, numbers)
        point = None if level == "ratio" else self._published(level, used)
        return self._estimate(statistic, self.alike, point=point)

    def _published(self, level: str, used: Any) -> float:
        import krippendorff  # noqa: PLC0415 -- slow import

        domain = np.arange(int(used.sum())) if self.table.numbers is None else self.table.numbers[used]
        return float(
            krippendorff.alpha(value_counts=self.all_counts[:, used], value_domain=domain, level_of_measurement=level)
        )

    def _by_rater(self, name: str) -> Estimate:
        if name == "conger":
            return self._estimate(co.conger(self.matrix, self._row_counts()), self.rows)
        values = len(self.table.domain)
        raters = len(self.table.raters)
        common = float((self.people * (self.people - 1)).sum()) / (raters * (raters - 1))
        if raters > co.PAIR and common < _COMMON:
            return Estimate.undefined(FEW_COMMON, n=self.size)
        tables = co.pair_tables(self.matrix, values)
        agree = co.quadratic_weights(self._numbers()) if name == "qwk" else np.eye(values)
        affordable = max(100, _PAIR_CELLS // max(1, tables.pairs * values * values))
        return self._estimate(co.cohen(tables, agree), self.rows, at_most=affordable)

    def _row_counts(self) -> Floats:
        return self.all_counts[self.rows.found.first].astype(np.float64)

    def _icc(self, form: str) -> Estimate:
        complete = (self.matrix != MISSING).all(axis=1)
        size = int(self.rows.found.occurs[complete].sum())
        if size < co.PAIR:
            return Estimate.undefined(INCOMPLETE, n=size)
        whole = co.icc(self._numbers()[self.matrix[complete]], form)
        return self._estimate(lambda drawn: whole(drawn[:, complete]), self.rows, n=size)

    def _numbers(self) -> Floats:
        if self.table.numbers is None:
            raise ValueError(WORDS)
        return self.table.numbers

    def _estimate(
        self,
        statistic: Statistic,
        draws: _Draws,
        *,
        point: float | None = None,
        at_most: int = REPLICATES,
        n: int | None = None,
    ) -> Estimate:
        size = self.size if n is None else n
        value = float(statistic(draws.found.occurs[None, :])[0]) if point is None else point
        if not np.isfinite(value):
            return Estimate.undefined(NO_VARIATION, n=size)
        if size < co.PAIR or self.one_cluster:
            return Estimate(value=value, n=size)
        return estimate(value, draws.values(statistic, at_most=at_most), n=size)


def _each(size: int) -> Kinds:
    every = np.arange(size, dtype=np.int64)
    return Kinds(every, np.ones(size), every)
