"""Who differs from whom, by how much, and whether that is more than chance.

Two kinds of question are kept apart. Claims are made on all items: their p-values are corrected by Holm within a named family.
Looking around in groups is exploration: there Benjamini-Hochberg holds the share of false finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from eqstudio.benchmarks.base import Metric
from evaluation.domain import baselines as bl
from evaluation.domain import statistics as st
from evaluation.services.comparison_rows import PEOPLE, Board, Row

CLAIMS = {"people": "people against each system", "systems": "systems against each other"}
EXPLORED = "people against each system, in each group"


def compared_rows(rows: Sequence[Row]) -> list[Row]:
    """The mean person, and every system. Other baselines flatter people and single persons are no population."""
    return [row for row in rows if row.name == PEOPLE or (not row.pooled and row.kind != "person")]


def pairs_build(board: Board, metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """Every two, on each metric; Holm within a family: people against each system on one metric, systems against each other."""
    found: list[dict[str, Any]] = []
    for metric in metrics:
        pairs = [pair_of(board, a, b, metric) for a, b in combinations(compared_rows(board.rows), 2)]
        for family in CLAIMS:
            tested = [pair for pair in pairs if pair["family"] == family and pair["p"] is not None]
            for pair, p_holm in zip(tested, st.adjusted([pair["p"] for pair in tested]), strict=True):
                pair["p_holm"] = p_holm
                pair["family_size"] = len(tested)
        found.extend(pairs)
    return found


def pair_of(board: Board, a: Row, b: Row, metric: Metric) -> dict[str, Any]:
    """One paired comparison on the items both answered. Items of one prompt or script are a cluster."""
    if a.pooled:
        matrix = board.matrix(a, metric)
        found = bl.crossed_compare(
            matrix,
            board.matrix(b, metric)[0],
            board.clusters,
            resampling=board.resampling.persons(a.places),
            rng=board.rng,
        )
    else:
        names = dict(zip(board.items, board.clusters, strict=True)) if board.clustered else None
        ours = {item: value for item, value in a.figures(metric)[0].items() if item in board.column}
        found = st.paired_compare(ours, b.figures(metric)[0], names, rng=board.rng)
    return {
        "a": a.name,
        "b": b.name,
        "metric": metric.name,
        "family": "people" if a.pooled else "systems",
        "difference": found.difference.as_dict(),
        "p": found.p,
        "p_holm": None,
        "family_size": None,
        "test": found.test,
        "mde": found.mde,
        "discordant": found.discordant,
    }


def explorations_build(parts: Sequence[tuple[str, Board]], metric: Metric) -> list[dict[str, Any]]:
    """People against each system within each group; one family, corrected by Benjamini-Hochberg."""
    found = []
    for group, board in parts:
        rows = compared_rows(board.rows)
        people = next((row for row in rows if row.pooled), None)
        if people is None or not board.items:
            continue
        systems = [row for row in rows if not row.pooled and row.kind != "rule"]
        found += [{"group": group, **pair_of(board, people, row, metric)} for row in systems]
    tested = [pair for pair in found if pair["p"] is not None]
    for pair in found:
        pair["p_bh"] = None
        pair["family"] = "explored"
    for pair, p_bh in zip(tested, st.adjusted([pair["p"] for pair in tested], method="fdr_bh"), strict=True):
        pair["p_bh"] = p_bh
        pair["family_size"] = len(tested)
    return found
