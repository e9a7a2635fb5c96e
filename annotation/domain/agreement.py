"""Agreement: the one function behind every page, API answer and command.

From a long table of ratings to Estimates. An interval is the percentile interval of an item bootstrap (of a cluster
bootstrap when clusters are given); ``n`` is the number of items with at least two ratings. What cannot be said is undefined
with its reason, never 0 or 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import krippendorff
import numpy as np

from annotation.domain import coefficients as co
from annotation.domain.bootstrap import (
    REPLICATES,
    Floats,
    Ints,
    Statistic,
    estimate,
    kinds,
    weights_by_cluster,
    weights_by_kind,
)
from annotation.domain.ratings import MISSING, Coded, Rating, Value, coded
from eqstudio.estimates import Estimate

NOMINAL = ("alpha_nominal", "percent_agreement", "ac1", "fleiss", "conger", "brennan_prediger", "cohen_kappa")
ORDERED = ("alpha_ordinal", "alpha_interval", "alpha_ratio", "ac2", "qwk", "icc")
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

_COMMON = 5
"""Common items an average pair of raters must have: with fewer, a kappa per pair is noise and its interval biased."""
_PAIR_CELLS = 200_000_000
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
    counts = table.counts()
    size = int((counts.sum(axis=1) >= co.PAIR).sum())
    blocked = _blocked(table, size)
    found: dict[str, Estimate] = {}
    work = (
        None
        if blocked
        else _Work(table, counts, clusters=_cluster_codes(table, clusters), replicates=replicates, seed=seed)
    )
    for name in names:
        reason = blocked or _not_for_words(name, table, level)
        found[name] = Estimate.undefined(reason, n=size) if work is None or reason else work.estimate(name)
    return Agreement(items=len(table.items), ratings=int(counts.sum()), raters=len(table.raters), estimates=found)


def _blocked(table: Coded, size: int) -> str:
    if not table.items:
        return NO_RATINGS
    if len(table.raters) < co.PAIR:
        return FEW_RATERS
    return "" if size else NO_OVERLAP


def _not_for_words(name: str, table: Coded, level: str) -> str:
    if name not in ORDERED:
        return ""
    if level == "nominal":
        return IS_NOMINAL
    return WORDS if table.numbers is None else ""


def _cluster_codes(table: Coded, clusters: Mapping[Hashable, Hashable] | None) -> Ints | None:
    if clusters is None:
        return None
    names = [clusters.get(item, item) for item in table.items]
    place = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return np.asarray([place[name] for name in names], dtype=np.int64)


class _Work:
    """One table, its kinds of item, and the resampling of both."""

    def __init__(self, table: Coded, counts: Ints, *, clusters: Ints | None, replicates: int, seed: int) -> None:
        self.table = table
        self.size = int((counts.sum(axis=1) >= co.PAIR).sum())
        self.clusters = clusters
        self.replicates = replicates
        self.seed = seed
        self.all_counts = counts
        first, self.occurs = _grouped(counts, clusters)
        self.counts = counts[first].astype(np.float64)
        few = len(table.raters) <= _FEW
        rows, self.rows_occur = _grouped(table.matrix, clusters) if few else _each(len(counts))
        self.matrix = table.matrix[rows]
        self.row_counts = counts[rows].astype(np.float64)
        self.varies = (counts[counts.sum(axis=1) >= co.PAIR].sum(axis=0) > 0).sum() > 1

    def estimate(self, name: str) -> Estimate:
        if name == "icc":
            return self._icc()
        if name in ("conger", "cohen_kappa", "qwk"):
            return self._by_rater(name)
        return self._by_counts(name)

    def _by_counts(self, name: str) -> Estimate:
        if name.startswith("alpha_"):
            return self._alpha(name.removeprefix("alpha_"))
        same = np.eye(self.counts.shape[1])
        agree = co.quadratic_weights(self._numbers()) if name == "ac2" else same
        chance = {
            "percent_agreement": None,
            "ac1": co.chance_gwet,
            "ac2": co.chance_gwet,
            "fleiss": co.chance_fleiss,
            "brennan_prediger": co.chance_uniform,
        }[name]
        return self._estimate(co.corrected(self.counts, agree, chance), self.occurs)

    def _alpha(self, level: str) -> Estimate:
        if not self.varies:
            return Estimate.undefined(NO_VARIATION, n=self.size)
        if level == "ratio" and self._numbers().min() < 0:
            return Estimate.undefined(BELOW_ZERO, n=self.size)
        used = self.all_counts.sum(axis=0) > 0
        numbers = None if self.table.numbers is None else self.table.numbers[used]
        statistic = co.alpha(self.counts[:, used], level, numbers)
        point = statistic(self.occurs[None, :])[0] if level == "ratio" else self._published(level, used)
        return self._estimate(statistic, self.occurs, point=point)

    def _published(self, level: str, used: Any) -> float:
        domain = np.arange(int(used.sum())) if self.table.numbers is None else self.table.numbers[used]
        return float(
            krippendorff.alpha(value_counts=self.all_counts[:, used], value_domain=domain, level_of_measurement=level)
        )

    def _by_rater(self, name: str) -> Estimate:
        if name == "conger":
            return self._estimate(co.conger(self.matrix, self.row_counts), self.rows_occur)
        values = len(self.table.domain)
        people = self.all_counts.sum(axis=1)
        raters = len(self.table.raters)
        common = float((people * (people - 1)).sum()) / (raters * (raters - 1))
        if raters > co.PAIR and common < _COMMON:
            return Estimate.undefined(FEW_COMMON, n=self.size)
        tables = co.pair_tables(self.matrix, values)
        agree = co.quadratic_weights(self._numbers()) if name == "qwk" else np.eye(values)
        affordable = max(100, _PAIR_CELLS // max(1, tables.pairs * values * values))
        return self._estimate(co.cohen(tables, agree), self.rows_occur, at_most=affordable)

    def _icc(self) -> Estimate:
        complete = (self.matrix != MISSING).all(axis=1)
        occurs = self.rows_occur[complete]
        size = int(occurs.sum())
        if size < co.PAIR:
            return Estimate.undefined(INCOMPLETE, n=size)
        table = self._numbers()[self.matrix[complete]]
        clusters = None if self.clusters is None else np.unique(self.clusters[complete], return_inverse=True)[1]
        return self._estimate(co.icc(table, "a_1"), occurs, clusters=clusters, n=size)

    def _numbers(self) -> Floats:
        if self.table.numbers is None:
            raise ValueError(WORDS)
        return self.table.numbers

    def _estimate(
        self,
        statistic: Statistic,
        occurs: Floats,
        *,
        point: float | None = None,
        clusters: Ints | None = None,
        at_most: int = REPLICATES,
        n: int | None = None,
    ) -> Estimate:
        size = self.size if n is None else n
        value = float(statistic(occurs[None, :])[0]) if point is None else point
        if not np.isfinite(value):
            return Estimate.undefined(NO_VARIATION, n=size)
        if size < co.PAIR:
            return Estimate(value=value, n=size)
        chosen = self.clusters if clusters is None else clusters
        replicates = min(self.replicates, at_most)
        weights = (
            weights_by_kind(occurs, replicates=replicates, seed=self.seed)
            if chosen is None
            else weights_by_cluster(chosen, replicates=replicates, seed=self.seed)
        )
        return estimate(value, np.concatenate([statistic(block) for block in weights]), n=size)


def _grouped(rows: Ints, clusters: Ints | None) -> tuple[Ints, Floats]:
    return kinds(rows) if clusters is None else _each(len(rows))


def _each(size: int) -> tuple[Ints, Floats]:
    return np.arange(size, dtype=np.int64), np.ones(size)
