"""Strengths from paired comparisons with ties: Bradley-Terry, as Davidson (1970) extended it.

With strengths p and nu >= 0: P(i beats j) = p_i / d and P(tie) = nu sqrt(p_i p_j) / d, where d = p_i + p_j + nu sqrt(p_i p_j).
Without a tie anywhere nu is 0 and the model is Bradley and Terry's. The likelihood is concave in log p and log nu.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

Floats = npt.NDArray[np.float64]
STEPS = 60
LONGEST_STEP = 2.0
CLOSE = 1e-10
SETTLED = 1e-6
FAR = 12.0
"""Odds beyond exp(12) are no estimate: the likelihood goes on rising for ever, as for somebody who never lost."""
APART = "some systems won or lost every comparison with the others, so strengths have no finite value"


class Strengths(NamedTuple):
    """``log`` strengths with mean 0 (replicates x systems) and ``nu`` (replicates); NaN where they are not finite."""

    log: Floats
    nu: Floats


class _Tables(NamedTuple):
    """``met`` counts every comparison of two systems, in both directions; ``has_ties`` whether a replicate has any tie."""

    wins: Floats
    ties: Floats
    met: Floats
    has_ties: npt.NDArray[np.bool_]


def davidson(wins: Floats, ties: Floats) -> Strengths:
    """Fit many tables at once. ``wins[r, i, j]`` counts how often i beat j, ``ties`` is symmetric; weights may be fractions."""
    replicates, systems = wins.shape[0], wins.shape[1]
    finite = np.asarray([_connected(wins[r] + ties[r] / 2) for r in range(replicates)], dtype=bool)
    has_ties = ties.sum(axis=(1, 2)) > 0
    log = np.zeros((replicates, systems))
    eta = np.zeros(replicates)
    tables = _Tables(wins, ties, wins + wins.transpose(0, 2, 1) + ties, has_ties)
    longest = np.zeros(replicates)
    for _step in range(STEPS):
        gradient, information = _newton(log, eta, tables)
        information[~finite] = np.eye(systems + 1)
        gradient[~finite] = 0.0
        move = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        longest = np.abs(move).max(axis=1, initial=0.0)
        move *= (LONGEST_STEP / np.maximum(longest, LONGEST_STEP))[:, None]
        log += move[:, :-1]
        eta += move[:, -1]
        finite &= (np.abs(log).max(axis=1, initial=0.0) <= FAR) & (np.abs(eta) <= FAR)
        log[~finite], eta[~finite] = 0.0, 0.0
        if longest.max(initial=0.0) < CLOSE:
            break
    finite &= longest < SETTLED
    log -= log.mean(axis=1, keepdims=True)
    log[~finite] = np.nan
    return Strengths(log, np.where(finite, np.where(has_ties, np.exp(eta), 0.0), np.nan))


def _newton(log: Floats, eta: Floats, tables: _Tables) -> tuple[Floats, Floats]:
    """Gradient and information of (log strengths, log nu). A constant added to all strengths changes nothing, so the mean is
    held by adding ones to the information.
    """
    wins, ties, met, has_ties = tables
    systems = log.shape[1]
    ratio = log[:, :, None] - log[:, None, :]
    drawn = np.where(has_ties, np.exp(eta), 0.0)[:, None, None]
    total = 2 * np.cosh(ratio / 2) + drawn
    first, tie = np.exp(ratio / 2) / total, drawn / total
    mean = first + tie / 2
    spread = met * (first + tie / 4 - mean**2)
    shared = met * tie * (0.5 - mean)
    gradient = np.zeros((log.shape[0], systems + 1))
    gradient[:, :-1] = (wins + ties / 2 - met * mean).sum(axis=2)
    gradient[:, -1] = np.where(has_ties, (ties - met * tie).sum(axis=(1, 2)) / 2, 0.0)
    information = np.zeros((log.shape[0], systems + 1, systems + 1))
    information[:, :-1, :-1] = np.eye(systems) * spread.sum(axis=2)[:, :, None] - spread + 1.0 / systems
    information[:, :-1, -1] = information[:, -1, :-1] = shared.sum(axis=2)
    curvature = (met * tie * (1 - tie)).sum(axis=(1, 2)) / 2
    information[:, -1, -1] = np.where(has_ties & (curvature > 0), curvature, 1.0)
    return gradient, information


def apart(beat: Floats) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Which systems beat some and were beaten by none, and which were beaten and beat none (masks over systems); ``beat[i, j]``
    > 0 where i beat j or tied. Their strengths have no upper, or no lower, limit.
    """
    won, lost = np.asarray((beat > 0).any(axis=1)), np.asarray((beat > 0).any(axis=0))
    return won & ~lost, lost & ~won


def _connected(beat: Floats) -> bool:
    """Whether everybody is reached from everybody along wins, a tie going both ways: without that no strength is finite."""
    parts, _labels = connected_components(beat > 0, directed=True, connection="strong")
    return bool(parts == 1)
