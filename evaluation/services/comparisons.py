"""Who is better, by how much, and whether it is more than chance: a group-by over one table of scores."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from eqstudio.benchmarks import Benchmark, benchmark_get
from eqstudio.benchmarks.base import Metric
from eqstudio.errors import InvalidInput
from evaluation.domain.baselines import ceiling
from evaluation.domain.norms import NoNorm, Norm
from evaluation.domain.resampling import Resampling
from evaluation.models import Respondent, Study
from evaluation.selectors import ItemFacts, item_facts, item_set_of, left_out, sample_told, weights_of
from evaluation.services.comparison_pairs import EXPLORED, explorations_build, pairs_build
from evaluation.services.comparison_rows import (
    MAJORITY,
    PEOPLE,
    Board,
    Row,
    chance_entry,
    constant_entry,
    entry_of,
    plain,
    rows_of,
)
from evaluation.services.norming import COHORT, cohort_left_out, norm_of, seq_add
from evaluation.services.parts import parts_build
from evaluation.services.readings import readings_build
from evaluation.services.reply_results import replies_build
from evaluation.services.weighting import weighted_build

HALF = 0.5
BY = ("category", "composite", "language", "source", "voice")


@dataclass(frozen=True)
class ItemApart:
    """One item's headline figure for people together and for one respondent."""

    dialogue: int
    people: float
    respondent: float


@dataclass(frozen=True)
class Asked:
    """What a comparison is asked to show: which items, split up by what, under which norm, and whether those who can read the
    key belong to the human baseline.
    """

    by: str | None = None
    filters: tuple[tuple[str, str], ...] = ()
    norm: str = COHORT
    with_key: bool = False

    @classmethod
    def of(
        cls,
        *,
        by: str | None = None,
        filters: Mapping[str, str] | None = None,
        norm: str = COHORT,
        with_key: bool = False,
    ) -> Asked:
        """InvalidInput, with what is known, for an unknown grouping or filter."""
        if by is not None and by not in BY:
            raise InvalidInput(f"Unknown grouping {by!r}; known: {', '.join(BY)}.", field="by")
        given = filters or {}
        unknown = [name for name in given if name not in BY]
        if unknown:
            raise InvalidInput(f"Unknown filter {unknown[0]!r}; known: {', '.join(BY)}.", field=unknown[0])
        return cls(by, tuple(sorted((name, value) for name, value in given.items() if value)), norm, with_key)


def comparison_build(
    *,
    study: Study,
    by: str | None = None,
    filters: Mapping[str, str] | None = None,
    pair_metrics: Sequence[str] | None = None,
    norm: str = COHORT,
    with_key: bool = False,
) -> dict[str, Any]:
    """The comparison of everybody who answered, as plain data (see the design, section 5); reads only.

    ``by`` adds the same figures per group; ``filters`` narrows the items, ``pair_metrics`` the metrics that pairs are compared
    on (all by default); ``norm`` says what SEQ is relative to; ``with_key`` lets those who can read the key into the human
    baseline. The same study always gives the same figures: every bootstrap is seeded by it.
    """
    asked = Asked.of(by=by, filters=filters, norm=norm, with_key=with_key)
    benchmark = benchmark_get(study.benchmark)
    facts = items_asked(study, asked)
    board = board_build(study, asked, facts)
    table, chosen, out = _table(benchmark, board, asked.norm, item_set_of(study, facts if asked.filters else None))
    metrics = [metric for metric in benchmark.metrics if pair_metrics is None or metric.name in pair_metrics]
    people = next((row for row in board.rows if row.name == PEOPLE), None)
    result: dict[str, Any] = {
        **_inputs(study, benchmark),
        "items": len(facts),
        "clusters": len(set(board.clusters)),
        "key_access": sum(row.key_access for row in board.rows),
        "with_key": asked.with_key,
        "respondents": table,
        "pairs": pairs_build(board, metrics),
        "left_out": left_out(study),
        "weighted": weighted_build(board, weights_of(study), headline_of(benchmark)),
        "parts": parts_build(board, benchmark, {item: fact.extras for item, fact in facts.items()}),
        "ceiling": ceiling(_in_view(people, board), rng=board.rng).as_dict() if people else None,
        "norm_asked": asked.norm,
        "norm": chosen.as_dict() if isinstance(chosen, Norm) else {"reason": chosen.reason} if chosen else None,
        "norm_left_out": out,
    }
    if by is not None:
        result |= _groups(benchmark, board, facts, by, chosen)
    result["readings"] = readings_build(study, board, benchmark.metrics)
    result["replies"] = replies_build(study, with_key=asked.with_key)
    return result


def _inputs(study: Study, benchmark: Benchmark) -> dict[str, Any]:
    """What the result rests on."""
    return {
        "study": study.name,
        "benchmark": study.benchmark,
        "benchmark_version": study.benchmark_version,
        "split": str(study.split),
        "manifest_hash": study.split.manifest_hash,
        "sample": sample_told(study),
        "instructions_hash": study.instructions_hash,
        "seed": study.seed,
        "headline": benchmark.headline,
    }


def items_asked(study: Study, asked: Asked) -> dict[int, ItemFacts]:
    """Dialogues of the split that pass the filters, with what they can be grouped by."""
    return {
        item: fact
        for item, fact in item_facts(study=study, benchmark=benchmark_get(study.benchmark)).items()
        if all(value in fact.values(name) for name, value in asked.filters)
    }


def board_build(
    study: Study, asked: Asked, facts: Mapping[int, ItemFacts], *, without: Collection[int] | None = None
) -> Board:
    """Everything that figures are made from, with one seeded resampling of people and items; ``without`` as in ``marks_of``."""
    rows = tuple(rows_of(study, with_key=asked.with_key, without=without))
    digest = hashlib.sha256(f"{study.seed}:{study.split.manifest_hash}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    people = max((len(row.sheets) for row in rows), default=0)
    clusters = tuple(fact.cluster for fact in facts.values())
    return Board(tuple(facts), clusters, rows, Resampling.draw(clusters, people, rng=rng), rng)


def _in_view(people: Row, board: Board) -> list[Any]:
    """People's sheets with the items that are looked at, and no others."""
    wanted = set(board.items)
    return [
        type(sheet)(items={item: runs for item, runs in sheet.items.items() if item in wanted})
        for sheet in people.sheets
    ]


class _Table(NamedTuple):
    """The leaderboard, the norm of its SEQ, and which systems a cohort norm leaves out, by why."""

    entries: list[dict[str, Any]]
    norm: Norm | NoNorm | None
    left_out: dict[str, list[str]]


def _table(benchmark: Benchmark, board: Board, norm: str, item_set: str) -> _Table:
    table = [
        entry_of(board, row, benchmark.metrics, benchmark.scale) | {"orders_equal": _orders_equal(benchmark, row)}
        for row in board.rows
    ]
    constant = constant_entry(board, benchmark.metrics, benchmark.scale)
    table += [*([constant] if constant else []), chance_entry(benchmark.metrics)]
    chosen = norm_of(norm=norm, benchmark=benchmark, board=board, table=table, item_set=item_set)
    out = cohort_left_out(table, len(board.items)) if chosen is not None and norm == COHORT else {}
    for entry in table:
        seq_add(entry, chosen)
    return _Table([plain(entry) for entry in table], chosen, out)


def _orders_equal(benchmark: Benchmark, row: Row) -> bool | None:
    """Whether a system was asked in both orders equally often; None for people, who see one, and where grades are asked."""
    if row.pooled or row.kind == Respondent.Kind.PERSON or benchmark.scale is not None:
        return None
    return row.sheets[0].orders_equal


def _groups(
    benchmark: Benchmark, board: Board, facts: Mapping[int, ItemFacts], by: str, norm: Norm | NoNorm | None
) -> dict[str, Any]:
    """The same figures per group, and people against each system within it."""
    members: dict[str, list[int]] = {}
    for item, fact in facts.items():
        for value in fact.values(by):
            members.setdefault(value, []).append(item)
    order = {category.key: index for index, category in enumerate(benchmark.categories)}
    names = sorted(members, key=lambda key: (order.get(key, len(order)), key))
    parts = [(name, board.part(members[name])) for name in names]
    groups = []
    for name, part in parts:
        table = [entry_of(part, row, benchmark.metrics, None) for row in part.rows if row.how in ("", "mean")]
        for entry in table:
            seq_add(entry, norm)
        groups.append({"by": {by: name}, "items": len(part.items), "respondents": [plain(entry) for entry in table]})
    return {
        "by": by,
        "groups": groups,
        "explored": explorations_build(parts, headline_of(benchmark)),
        "explored_family": EXPLORED,
    }


def headline_of(benchmark: Benchmark) -> Metric:
    return next(metric for metric in benchmark.metrics if metric.name == benchmark.headline)


def items_apart(
    *, study: Study, respondent: str, filters: Mapping[str, str] | None = None, back: bool = False
) -> list[ItemApart]:
    """Items on which people are mostly right and ``respondent`` (a public id) is mostly wrong, widest gap first; ``back`` the
    other way round. Reads only.
    """
    sign = -1 if back else 1
    apart = [
        one
        for one in item_difficulty(study=study, respondent=respondent, filters=filters)
        if sign * (one.people - HALF) > 0 and sign * (one.respondent - HALF) < 0
    ]
    return sorted(apart, key=lambda one: (sign * (one.respondent - one.people), one.dialogue))


def item_difficulty(*, study: Study, respondent: str, filters: Mapping[str, str] | None = None) -> list[ItemApart]:
    """The headline figure of people and of ``respondent`` on every item that both answered; reads only."""
    asked = Asked.of(filters=filters)
    metric = headline_of(benchmark_get(study.benchmark))
    rows = {row.uid or row.name: row for row in rows_of(study)}
    people, other = rows.get(PEOPLE), rows.get(respondent)
    if people is None or other is None:
        return []
    theirs = other.figures(metric)[0]
    each = people.figures(metric)
    found = []
    for item in items_asked(study, asked):
        given = [one[item] for one in each if item in one]
        if given and item in theirs:
            found.append(ItemApart(item, fmean(given), theirs[item]))
    return found


__all__ = ["BY", "MAJORITY", "PEOPLE", "Asked", "ItemApart", "comparison_build", "item_difficulty", "items_apart"]
