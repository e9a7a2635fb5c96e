"""Figures by sort of question: SpeechEQ's turns, EchoMind's types against what guessing gives each."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from eqstudio.benchmarks import Benchmark
from eqstudio.benchmarks.base import Score
from eqstudio.estimates import Estimate
from evaluation.domain.statistics import mean_estimate
from evaluation.services.comparison_rows import Board, Row

TWO = 0.5


def parts_build(board: Board, benchmark: Benchmark, extras: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each sort of question that was asked: its own chance, and everybody's share of right answers."""
    if not benchmark.parts:
        return []
    tables = {row.name: _answers(row, board, benchmark, extras) for row in board.rows if row.how in ("", "mean")}
    found = []
    for part, label in benchmark.parts.items():
        chances = [chance for table in tables.values() for _right, chance, _item in table.get(part, [])]
        if not chances:
            continue
        found.append(
            {
                "part": part,
                "label": label,
                "chance": fmean(chances),
                "respondents": [
                    {"name": name, "accuracy": _share(table.get(part, []), board).as_dict()}
                    for name, table in tables.items()
                ],
            }
        )
    return found


def _answers(
    row: Row, board: Board, benchmark: Benchmark, extras: Mapping[int, Mapping[str, Any]]
) -> dict[str, list[tuple[bool, float, int]]]:
    """By part: whether right, what guessing gives, and about which item."""
    found: dict[str, list[tuple[bool, float, int]]] = {}
    for sheet in row.sheets:
        for item in sheet.items.keys() & board.column.keys():
            for scores in sheet.items[item].values():
                for key, score in scores.items():
                    part = benchmark.part(key, extras.get(item, {}))
                    if part:
                        found.setdefault(part, []).append((bool(score.correct), _chance(score), item))
    return found


def _chance(score: Score) -> float:
    return TWO if score.gold is None else score.gold


def _share(answers: list[tuple[bool, float, int]], board: Board) -> Estimate:
    """The share of right answers; answers about one item (runs, people) are a cluster."""
    ordered = sorted(answers, key=lambda answer: answer[2])
    values = [float(right) for right, _chance_of, _item in ordered]
    return mean_estimate(values, [str(item) for _right, _chance_of, item in ordered], rng=board.rng)
