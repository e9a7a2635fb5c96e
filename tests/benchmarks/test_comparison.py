"""A comparison of 10 respondents over 4,000 items with 2,000 replicates: what the figures themselves take, and all of it."""

from __future__ import annotations

import random
import sys
import time

import numpy as np
import pytest

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Score
from evaluation.domain.metrics import Mark, sheets_build
from evaluation.domain.resampling import Resampling
from evaluation.services import comparison_pairs, comparison_rows
from evaluation.services.comparison_rows import PEOPLE, Board, Row

ITEMS, RESPONDENTS, PEOPLE_COUNT, REPLICATES = 4_000, 10, 4, 2_000
MOST_S = 2.0


@pytest.fixture(scope="module")
def marks():
    rng = random.Random(3)
    found = []
    for who in range(RESPONDENTS):
        skill = 0.55 + 0.04 * who
        for item in range(ITEMS):
            for key in ("s4", "s6"):
                right = rng.random() < skill
                found.append(Mark(who, 0, item, key, "answered", Score(correct=right), rng.choice("AB")))
    return found


def rows(marks):
    sheets = sheets_build(marks)
    people = tuple(sheets[who] for who in range(PEOPLE_COUNT))
    names = tuple(f"Person {who}" for who in range(PEOPLE_COUNT))
    together = Row(PEOPLE, "people", people, how="mean", names=names, places=tuple(range(PEOPLE_COUNT)))
    kinds = ["person" if who < PEOPLE_COUNT else "model" for who in range(RESPONDENTS)]
    return (together, *(Row(f"r{who}", kinds[who], (sheets[who],), uid=str(who)) for who in range(RESPONDENTS)))


def test_a_large_comparison(marks, capsys):
    benchmark = benchmark_get("speecheq")
    took = []
    for _ in range(3):
        everybody = rows(marks)
        # Processor time is the comparison's own, whatever else the machine does.
        started = time.process_time()
        rng = np.random.default_rng(1)
        items = tuple(range(ITEMS))
        clusters = tuple(f"script {item // 2}" for item in items)
        resampling = Resampling.draw(clusters, PEOPLE_COUNT, rng=rng, replicates=REPLICATES)
        board = Board(items, clusters, everybody, resampling, rng)
        table = [comparison_rows.entry_of(board, row, benchmark.metrics, None) for row in board.rows]
        pairs = comparison_pairs.pairs_build(
            board, [metric for metric in benchmark.metrics if metric.name == "acc_traj"]
        )
        took.append(time.process_time() - started)
    with capsys.disabled():
        sys.stdout.write(f"\n{min(took):.2f} s for {len(table)} rows and {len(pairs)} pairs over {ITEMS} items")
    assert (len(table), len(pairs)) == (RESPONDENTS + 1, 21)
    assert min(took) < MOST_S
