"""Who is better, by how much, and whether it is more than chance: a group-by over one table of scores."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

import numpy as np

from annotation.models import SplitItem
from eqstudio.benchmarks import Benchmark, benchmark_get
from eqstudio.benchmarks.base import Metric, Outcome
from eqstudio.errors import InvalidInput
from eqstudio.estimates import Estimate
from evaluation.domain import statistics as st
from evaluation.domain.metrics import Sheet, item_figures, sheets_build
from evaluation.domain.norms import NoNorm, Norm, cohort_norm
from evaluation.models import Respondent, Study
from evaluation.selectors import marks_of

PEOPLE = "people (mean)"
HALF = 0.5
NORMED_METRIC = "acc_traj"
"""The figure that a SEQ is made from, where a benchmark has it."""
NORMING = frozenset({Respondent.Kind.MODEL.value, Respondent.Kind.IMPORTED.value})
BY = {"category": "dialogue__category", "language": "dialogue__language", "source": "dialogue__source"}


@dataclass(frozen=True)
class Row:
    """A line of the leaderboard: one respondent, or all people together (``sheets`` then holds one sheet a person)."""

    name: str
    kind: str
    sheets: tuple[Sheet, ...]
    uid: str = ""

    @property
    def pooled(self) -> bool:
        return self.kind == "people"


@dataclass(frozen=True)
class ItemApart:
    """One item's headline figure for people together and for one respondent."""

    dialogue: int
    people: float
    respondent: float


def comparison_build(
    *,
    study: Study,
    by: str | None = None,
    filters: Mapping[str, str] | None = None,
    pair_metrics: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The comparison of everybody who answered, as plain data (see the design, section 5); reads only.

    ``by`` adds the same figures per category, language or source; ``filters`` narrows the items by those, ``pair_metrics``
    the metrics that pairs are compared on (all by default). The same study always gives the same figures: every bootstrap
    is seeded by it.
    """
    if by is not None and by not in BY:
        raise InvalidInput(f"Unknown grouping {by!r}; known: {', '.join(BY)}.", field="by")
    benchmark = benchmark_get(study.benchmark)
    chosen = list(benchmark.metrics)
    paired = [metric for metric in chosen if pair_metrics is None or metric.name in pair_metrics]
    items = _items(study, filters or {})
    rows = _rows(study)
    rng = _rng(study)
    table, norm = _table(benchmark=benchmark, metrics=chosen, rows=rows, items=set(items), study=study, rng=rng)
    result: dict[str, Any] = {
        "study": study.name,
        "benchmark": study.benchmark,
        "benchmark_version": study.benchmark_version,
        "split": str(study.split),
        "manifest_hash": study.split.manifest_hash,
        "instructions_hash": study.instructions_hash,
        "seed": study.seed,
        "headline": benchmark.headline,
        "items": len(items),
        "respondents": table,
        "pairs": _pairs(paired, rows, set(items), rng),
        "norm": norm.as_dict() if isinstance(norm, Norm) else {"reason": norm.reason} if norm else None,
    }
    if by is not None:
        result["by"] = by
        result["groups"] = _groups(
            benchmark=benchmark, metrics=chosen, rows=rows, items=items, by=by, rng=rng, norm=norm
        )
    return result


def items_apart(*, study: Study, respondent: str, filters: Mapping[str, str] | None = None) -> list[ItemApart]:
    """Items on which people are mostly right and ``respondent`` (a public id) is mostly wrong, widest gap first; reads only."""
    benchmark = benchmark_get(study.benchmark)
    metric = next(metric for metric in benchmark.metrics if metric.name == benchmark.headline)
    rows = {row.uid or row.name: row for row in _rows(study)}
    people, other = rows.get(PEOPLE), rows.get(respondent)
    if people is None or other is None:
        return []
    items = set(_items(study, filters or {}))
    theirs = item_figures(other.sheets[0], metric, items)
    each = [item_figures(sheet, metric, items) for sheet in people.sheets]
    means = {
        item: fmean([one[item] for one in each if item in one]) for item in items if any(item in one for one in each)
    }
    apart = [
        ItemApart(item, means[item], theirs[item])
        for item in means.keys() & theirs.keys()
        if means[item] > HALF and theirs[item] < HALF
    ]
    return sorted(apart, key=lambda one: (one.respondent - one.people, one.dialogue))


def _rng(study: Study) -> np.random.Generator:
    digest = hashlib.sha256(f"{study.seed}:{study.split.manifest_hash}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def _items(study: Study, filters: Mapping[str, str]) -> dict[int, dict[str, str]]:
    """Dialogues of the split that pass the filters, with what they can be grouped by."""
    unknown = [name for name in filters if name not in BY]
    if unknown:
        raise InvalidInput(f"Unknown filter {unknown[0]!r}; known: {', '.join(BY)}.", field=unknown[0])
    found = SplitItem.objects.filter(split=study.split, **{BY[name]: value for name, value in filters.items() if value})
    return {
        row[0]: dict(zip(BY, row[1:], strict=True))
        for row in found.order_by("position").values_list("dialogue_id", *BY.values())
    }


def _rows(study: Study) -> list[Row]:
    """People together, then each respondent who has answered anything, in the order they came."""
    sheets = sheets_build(marks_of(study=study))
    respondents = [one for one in study.respondents.order_by("pk") if one.pk in sheets]
    people = tuple(sheets[one.pk] for one in respondents if one.kind == Respondent.Kind.PERSON)
    single = [Row(one.name, one.kind, (sheets[one.pk],), one.uid) for one in respondents]
    return [Row(PEOPLE, "people", people), *single] if people else single


def _table(
    *,
    benchmark: Benchmark,
    metrics: Sequence[Metric],
    rows: Sequence[Row],
    items: set[int],
    study: Study,
    rng: np.random.Generator,
) -> tuple[list[dict[str, Any]], Norm | NoNorm | None]:
    table = [_entry(row, metrics, items, rng) for row in rows]
    table.append(_chance(metrics))
    norm = _norm(benchmark, table, study.split.manifest_hash, len(items))
    if norm is not None:
        for entry in table:
            _seq_add(entry, norm)
    return [_plain(entry) for entry in table], norm


def _entry(row: Row, metrics: Sequence[Metric], items: set[int], rng: np.random.Generator) -> dict[str, Any]:
    answers = sum(sheet.answers for sheet in row.sheets)
    read = sum(sheet.outcomes.get(Outcome.ANSWERED.value, 0) for sheet in row.sheets)
    outcomes: dict[str, int] = {}
    for sheet in row.sheets:
        for outcome, count in sheet.outcomes.items():
            outcomes[outcome] = outcomes.get(outcome, 0) + count
    return {
        "name": row.name,
        "kind": row.kind,
        "uid": row.uid,
        "runs": max(len(sheet.runs) for sheet in row.sheets),
        "people": len(row.sheets) if row.pooled else None,
        "estimates": {metric.name: _estimate(row, metric, items, rng) for metric in metrics},
        "unparsed": st.rate_estimate(answers - read, answers),
        "outcomes": outcomes,
    }


def _estimate(row: Row, metric: Metric, items: set[int], rng: np.random.Generator) -> Estimate:
    if row.pooled:
        order = sorted(items)
        return st.crossed_mean(_matrix(row, metric, order), rng=rng) if order else Estimate.undefined("no item passes")
    figures = item_figures(row.sheets[0], metric, items)
    return st.mean_estimate(
        [figures[item] for item in sorted(figures)], rng=rng, bounds=_bounds(metric, figures.values())
    )


def _bounds(metric: Metric, values: Iterable[float]) -> tuple[float, float] | None:
    shares = metric.higher_is_better and all(0.0 <= value <= 1.0 for value in values)
    return (0.0, 1.0) if shares else None


def _matrix(row: Row, metric: Metric, order: Sequence[int]) -> st.Floats:
    """People by items; NaN where a person was not asked."""
    matrix = np.full((len(row.sheets), len(order)), np.nan)
    column = {item: index for index, item in enumerate(order)}
    for index, sheet in enumerate(row.sheets):
        for item, value in item_figures(sheet, metric, order).items():
            matrix[index, column[item]] = value
    return matrix


def _chance(metrics: Sequence[Metric]) -> dict[str, Any]:
    return {
        "name": "chance",
        "kind": "chance",
        "uid": "",
        "runs": 0,
        "people": None,
        "estimates": {
            metric.name: Estimate.undefined("guessing has no fixed figure here")
            if metric.chance is None
            else Estimate(metric.chance)
            for metric in metrics
        },
        "unparsed": Estimate.undefined("chance does not speak"),
        "outcomes": {},
    }


def _norm(benchmark: Benchmark, table: Sequence[Mapping[str, Any]], item_set: str, items: int) -> Norm | NoNorm | None:
    """The cohort: every model that has answered all the items looked at, and chance. Rules and people are not part of it."""
    if NORMED_METRIC not in {metric.name for metric in benchmark.metrics}:
        return None
    figures = {entry["name"]: (entry["kind"], entry["estimates"][NORMED_METRIC]) for entry in table}
    values = {
        name: figure.value
        for name, (kind, figure) in figures.items()
        if figure.value is not None and (kind == "chance" or (kind in NORMING and figure.n == items))
    }
    return cohort_norm(values, metric=NORMED_METRIC, item_set=item_set)


def _seq_add(entry: Mapping[str, Any], norm: Norm | NoNorm) -> None:
    figure = entry["estimates"].get(NORMED_METRIC)
    if figure is not None:
        entry["estimates"]["seq"] = (
            norm.estimate(figure) if isinstance(norm, Norm) else Estimate.undefined(norm.reason, n=figure.n)
        )


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    estimates = {name: figure.as_dict() for name, figure in entry["estimates"].items()}
    return {**entry, "estimates": estimates, "unparsed": entry["unparsed"].as_dict()}


def _pairs(
    metrics: Sequence[Metric], rows: Sequence[Row], items: set[int], rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Every two of: people together, models, rules, imported.

    Holm within a family: people against each system on one metric, and systems against each other on it.
    """
    compared = [row for row in rows if row.kind != "person"]
    found: list[dict[str, Any]] = []
    for metric in metrics:
        pairs = [_pair(a, b, metric, items, rng) for a, b in combinations(compared, 2)]
        for family in ("people", "systems"):
            tested = [pair for pair in pairs if pair["family"] == family and pair["p"] is not None]
            for pair, p_holm in zip(tested, st.adjusted([pair["p"] for pair in tested]), strict=True):
                pair["p_holm"] = p_holm
        found.extend(pairs)
    return found


def _pair(a: Row, b: Row, metric: Metric, items: set[int], rng: np.random.Generator) -> dict[str, Any]:
    order = sorted(items)
    if a.pooled:
        figures = item_figures(b.sheets[0], metric, items)
        other = np.asarray([figures.get(item, np.nan) for item in order])
        comparison = st.crossed_compare(_matrix(a, metric, order), other, rng=rng)
    else:
        comparison = st.paired_compare(
            item_figures(a.sheets[0], metric, items), item_figures(b.sheets[0], metric, items), rng=rng
        )
    return {
        "a": a.name,
        "b": b.name,
        "metric": metric.name,
        "family": "people" if a.pooled else "systems",
        "difference": comparison.difference.as_dict(),
        "p": comparison.p,
        "p_holm": None,
        "test": comparison.test,
        "mde": comparison.mde,
    }


def _groups(
    *,
    benchmark: Benchmark,
    metrics: Sequence[Metric],
    rows: Sequence[Row],
    items: Mapping[int, Mapping[str, str]],
    by: str,
    rng: np.random.Generator,
    norm: Norm | NoNorm | None,
) -> list[dict[str, Any]]:
    members: dict[str, set[int]] = {}
    for item, facts in items.items():
        members.setdefault(facts[by], set()).add(item)
    order = {category.key: index for index, category in enumerate(benchmark.categories)}
    groups = []
    for value in sorted(members, key=lambda key: (order.get(key, len(order)), key)):
        table = [_entry(row, metrics, members[value], rng) for row in rows]
        if norm is not None:
            for entry in table:
                _seq_add(entry, norm)
        groups.append(
            {"by": {by: value}, "items": len(members[value]), "respondents": [_plain(entry) for entry in table]}
        )
    return groups
