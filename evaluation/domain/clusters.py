"""How much a set of items is bound together: items of one prompt or script are not independent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np


def cluster_size(clusters: Sequence[str]) -> float:
    """The size of the cluster of an item taken at random, sum m^2 / sum m: the m that the design effect of a mean takes when
    clusters are not equally large. 1 where every item stands alone, and for no items.
    """
    sizes = Counter(clusters).values()
    whole = sum(sizes)
    return sum(size**2 for size in sizes) / whole if whole else 1.0


def likeness(values: Mapping[int, float], clusters: Mapping[int, str]) -> float | None:
    """Intraclass correlation of item figures within their clusters, by one-way analysis of variance (ICC(1)), not below 0. None
    where no cluster has two of these items, or where they do not vary.
    """
    groups: dict[str, list[float]] = {}
    for item, value in values.items():
        groups.setdefault(clusters[item], []).append(value)
    n, k = len(values), len(groups)
    if k < 2 or n <= k:  # noqa: PLR2004 -- two clusters, and one of them with two items
        return None
    mean = sum(values.values()) / n
    between = sum(len(group) * (float(np.mean(group)) - mean) ** 2 for group in groups.values()) / (k - 1)
    within = sum(float(np.sum((np.asarray(group) - np.mean(group)) ** 2)) for group in groups.values()) / (n - k)
    typical = (n - sum(len(group) ** 2 for group in groups.values()) / n) / (k - 1)
    spread = between + (typical - 1) * within
    return max(0.0, (between - within) / spread) if spread > 0 else None
