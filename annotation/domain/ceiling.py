"""The noise ceiling of labels: how well one person foretells the others. No model can be asked for more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

from annotation.domain.bootstrap import REPLICATES, estimate
from eqstudio.estimates import Estimate

T = TypeVar("T", str, int)
FEWEST = 3
_CLUSTERS = 20_000


def ceiling(items: Iterable[Sequence[Sequence[T]]], *, seed: int = 0) -> Estimate:
    """How often one person says what most of the others say: leave one out, over everybody in turn.

    ``items`` hold, per item, the labels that each of its renditions got. A tie among the others counts in parts. The interval
    resamples items; ``n`` is their number.
    """
    hits, asked = [], []
    for renditions in items:
        scores = [_hit(labels, place) for labels in renditions if len(labels) >= FEWEST for place in range(len(labels))]
        if scores:
            hits.append(sum(scores))
            asked.append(len(scores))
    if not hits:
        return Estimate.undefined("no item was judged by three people")
    right, total = np.array(hits), np.array(asked, dtype=np.float64)
    value = float(right.sum() / total.sum())
    if len(hits) == 1:
        return Estimate(value=value, n=1)
    rng = np.random.default_rng(seed)
    replicates = REPLICATES if len(hits) < _CLUSTERS else REPLICATES // 10
    drawn = []
    for _ in range(replicates):
        chosen = rng.integers(0, len(hits), len(hits))
        drawn.append(right[chosen].sum() / total[chosen].sum())
    return estimate(value, np.array(drawn), n=len(hits))


def _hit(labels: Sequence[T], place: int) -> float:
    others = Counter(labels)
    others[labels[place]] -= 1
    most = max(others.values())
    first = [label for label, count in others.items() if count == most]
    return 1 / len(first) if labels[place] in first else 0.0
