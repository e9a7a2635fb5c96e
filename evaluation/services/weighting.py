"""The headline figure weighted to the whole split, where a sample drew some items likelier than others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eqstudio.benchmarks.base import Metric
from evaluation.domain.baselines import weighted_person
from evaluation.services.comparison_rows import Board


def weighted_build(board: Board, weights: Mapping[int, float], metric: Metric) -> dict[str, Any] | None:
    """Each respondent, and the mean person, on ``metric`` with every item counting for as many as it stands for (1 / probability
    of its draw); None where all items count the same. Intervals resample persons and clusters of items.
    """
    if not weights or not board.items:
        return None
    each = np.asarray([weights[item] for item in board.items])
    rows = [row for row in board.rows if row.how in {"", "mean"}]
    return {
        "metric": metric.name,
        "respondents": [
            {
                "name": row.name,
                "estimate": weighted_person(
                    board.matrix(row, metric),
                    each,
                    board.resampling.persons(row.places) if row.pooled else board.resampling.alone(),
                ).as_dict(),
            }
            for row in rows
        ],
    }
