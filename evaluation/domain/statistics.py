"""Intervals and comparisons. Every result is an Estimate or says why there is none; every draw comes from a given rng."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eqstudio.estimates import Estimate, wilson

Floats = npt.NDArray[np.float64]

REPLICATES = 4_000
LEVEL = (2.5, 97.5)
FEW_CLUSTERS = 30
EXACT_CLUSTERS = 12
ALIKE = 1e-12
"""Differences below this are rounding."""
FLIPS = "sign flips of clusters"
POWER_Z = 1.959964 + 0.841621
"""Two-sided .05 and power .8."""


def rate_estimate(successes: int, n: int) -> Estimate:
    """A share with its Wilson interval."""
    if n == 0:
        return Estimate.undefined("nothing was asked")
    lo, hi = wilson(successes, n)
    return Estimate(successes / n, lo, hi, n)


def mean_estimate(
    values: Sequence[float],
    clusters: Sequence[str] | None = None,
    *,
    rng: np.random.Generator,
    bounds: tuple[float, float] | None = (0.0, 1.0),
) -> Estimate:
    """The mean of item figures.

    Wilson where they are zeros and ones of independent items; else the cluster-robust interval (t with G-1 degrees of
    freedom, factor G/(G-1)), and the cluster bootstrap where there are fewer than 30 clusters. ``bounds`` clips the interval.
    Where all clusters are alike neither shows any spread: then Wilson with one count a cluster for zeros and ones, else none.
    """
    n = len(values)
    if n == 0:
        return Estimate.undefined("nothing was asked")
    array = np.asarray(values, dtype=float)
    names = list(clusters) if clusters is not None else [str(index) for index in range(n)]
    sums, counts = _cluster_sums(array, names)
    if len(sums) == n and set(np.unique(array)) <= {0.0, 1.0}:
        return rate_estimate(int(array.sum()), n)
    mean = float(array.mean())
    if len(sums) == 1:
        return Estimate(mean, None, None, n)
    if _alike(sums, counts, mean):
        if set(np.unique(array)) <= {0.0, 1.0}:
            return Estimate(mean, *wilson(mean * len(sums), len(sums)), n)
        return Estimate(mean, None, None, n)
    if len(sums) < FEW_CLUSTERS:
        lo, hi = _bootstrap_mean(sums, counts, rng)
    else:
        from scipy.special import stdtrit  # noqa: PLC0415 -- slow import

        half = float(stdtrit(len(sums) - 1, 0.975)) * clustered_se(array, names)
        lo, hi = mean - half, mean + half
    if bounds is not None:
        lo, hi = max(bounds[0], lo), min(bounds[1], hi)
    return Estimate(mean, lo, hi, n)


def clustered_se(values: Sequence[float] | Floats, clusters: Sequence[str], *, small_sample: bool = True) -> float:
    """Standard error of a mean whose items come in clusters (Miller 2024); with one item a cluster it is the usual one."""
    array = np.asarray(values, dtype=float)
    sums, _counts = _cluster_sums(array - array.mean(), list(clusters))
    groups = len(sums)
    factor = groups / (groups - 1) if small_sample and groups > 1 else 1.0
    return float(np.sqrt(factor * np.sum(sums**2)) / len(array))


def _cluster_sums(values: Floats, clusters: Sequence[str]) -> tuple[Floats, Floats]:
    _names, index = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    return np.bincount(index, weights=values).astype(float), np.bincount(index).astype(float)


def cluster_sums(values: Floats, clusters: Sequence[str]) -> Floats:
    """The sum of the values of each cluster, in the order of their names."""
    return _cluster_sums(values, clusters)[0]


def _alike(sums: Floats, counts: Floats, mean: float) -> bool:
    """Whether every cluster has the same mean, so that resampling them shows no spread."""
    return bool(np.all(np.abs(sums - mean * counts) < ALIKE * counts))


def alike_interval(difference: float, clusters: int, *, shares: bool) -> tuple[float | None, float | None]:
    """The interval of a difference that is the same in every one of ``clusters``, which resampling would call certain.

    Of zeros and ones (``shares``): by Wilson's bound on the share of clusters on which the two could yet differ otherwise; of
    anything else nothing tells how large another difference could be, and there is none.
    """
    if not shares:
        return None, None
    other = wilson(0, clusters)[1]
    if abs(difference) < ALIKE:
        return -other, other
    if abs(abs(difference) - 1) < ALIKE:
        edge = difference * (1 - 2 * other)
        return min(edge, difference), max(edge, difference)
    return None, None


def _bootstrap_mean(sums: Floats, counts: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Resample clusters. Equal (sum, count) pairs are drawn together: one multinomial over the patterns, exactly the same."""
    patterns, multiplicity = np.unique(np.stack([sums, counts], axis=1), axis=0, return_counts=True)
    draws = rng.multinomial(len(sums), multiplicity / len(sums), size=REPLICATES)
    means = (draws @ patterns[:, 0]) / (draws @ patterns[:, 1])
    lo, hi = np.percentile(means, LEVEL)
    return float(lo), float(hi)


@dataclass(frozen=True)
class Comparison:
    """The mean of a - b over items that both answered, with the p-value of no difference and how it was found."""

    difference: Estimate
    p: float | None
    test: str
    mde: float | None = None
    """The smallest difference this comparison could have seen (two-sided .05, power .8); None where nothing varies."""
    discordant: tuple[int, int] | None = None
    """On how many items the first is ahead, and the second; what McNemar's and the sign test look at."""


def paired_compare(
    a: Mapping[int, float],
    b: Mapping[int, float],
    clusters: Mapping[int, str] | None = None,
    *,
    rng: np.random.Generator,
) -> Comparison:
    """Two respondents on the items both answered: multinomial bootstrap of the differences for the interval; exact McNemar
    where figures are zeros and ones of independent items, a sign test where other figures are one apart at most (the same
    binomial under its own name), else a sign-flip test over clusters.
    """
    items = sorted(a.keys() & b.keys())
    if not items:
        return Comparison(Estimate.undefined("no item was answered by both"), None, "none")
    differences = np.asarray([a[item] - b[item] for item in items], dtype=float)
    names = [clusters[item] if clusters is not None else str(item) for item in items]
    sums, counts = _cluster_sums(differences, names)
    mean = float(differences.mean())
    if len(sums) == 1:
        return Comparison(Estimate(mean, None, None, len(items)), None, "one cluster")
    yes_no = {a[item] for item in items} | {b[item] for item in items} <= {0.0, 1.0}
    alike = _alike(sums, counts, mean)
    lo, hi = alike_interval(mean, len(sums), shares=yes_no) if alike else _bootstrap_mean(sums, counts, rng)
    estimate = Estimate(mean, lo, hi, len(items))
    mde = None if alike else POWER_Z * clustered_se(differences, names)
    discordant = int((differences > 0).sum()), int((differences < 0).sum())
    single = len(sums) == len(items)
    if single and set(np.unique(differences)) <= {-1.0, 0.0, 1.0}:
        test = "exact McNemar" if yes_no else "exact sign test"
        return Comparison(estimate, mcnemar_exact(*discordant), test, mde, discordant)
    # A stream of its own: how much the bootstrap took of ours depends on which of the two is named first.
    return Comparison(estimate, sign_flip_p(sums, rng=rng.spawn(1)[0]), FLIPS, mde, discordant)


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact p of discordant counts ``b`` and ``c``."""
    from statsmodels.stats.contingency_tables import mcnemar  # noqa: PLC0415 -- slow import: it brings pandas, 90 MB

    return float(min(1.0, mcnemar([[0, b], [c, 0]], exact=True).pvalue))


def mcnemar_chi2(table: Sequence[Sequence[int]]) -> float:
    """The uncorrected statistic of a 2 x 2 table of paired answers."""
    from statsmodels.stats.contingency_tables import mcnemar  # noqa: PLC0415 -- slow import: it brings pandas, 90 MB

    return float(mcnemar(table, exact=False, correction=False).statistic)


def sign_flip_p(sums: Floats, *, rng: np.random.Generator) -> float:
    """Two-sided p that the sum is as far from 0 when every cluster's sign is a coin's; exact up to 12 clusters.

    Clusters of one size are flipped together: how many of them turn is binomial, which is the same and much faster.
    """
    moving = sums[sums != 0]
    if len(moving) == 0:
        return 1.0
    observed = abs(moving.sum()) - 1e-9
    if len(moving) <= EXACT_CLUSTERS:
        bits = (np.arange(2 ** len(moving))[:, None] >> np.arange(len(moving))) & 1
        return float((np.abs((2 * bits - 1) @ moving) >= observed).mean())
    sizes, counts = np.unique(np.round(np.abs(moving), 9), return_counts=True)
    turned = rng.binomial(counts, 0.5, size=(REPLICATES, len(sizes)))
    extreme = int((np.abs((2 * turned - counts) @ sizes) >= observed).sum())
    return (extreme + 1) / (REPLICATES + 1)


def adjusted(p_values: Sequence[float], *, method: str = "holm") -> list[float]:
    """Adjusted p-values of one family: ``holm`` for claims, ``fdr_bh`` for looking around."""
    if not p_values:
        return []
    if method == "holm":
        return _holm(np.asarray(p_values, dtype=float))
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415 -- slow import: it brings pandas, 90 MB

    return [float(p) for p in multipletests(list(p_values), method=method)[1]]


def _holm(p_values: Floats) -> list[float]:
    """Holm (1979). ``multipletests`` gives the same, and looks through all memory for garbage each time, which takes 0.2 s."""
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    corrected = np.empty_like(stepped)
    corrected[order] = np.minimum(stepped, 1.0)
    return [float(p) for p in corrected]
