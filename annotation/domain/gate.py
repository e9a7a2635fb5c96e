"""What was heard: played intervals become a share of the clip."""

from __future__ import annotations

import math
from collections.abc import Sequence

from eqstudio.errors import InvalidInput

MAX_INTERVALS = 2_000
FASTEST = 2.0
"""The fastest speed of the player."""

SLACK_S = 3.0
"""What rounding, a slow answer and the ends of a dozen clips may add up to."""


def intervals_check(intervals: object, *, field: str = "heard") -> list[tuple[float, float]]:
    """Read ``[[start, end], ...]`` in seconds; InvalidInput says what was expected."""
    if not isinstance(intervals, list | tuple) or len(intervals) > MAX_INTERVALS:
        raise InvalidInput("The played intervals should be a list of [start, end] in seconds.", field=field)
    return [_pair(pair, field) for pair in intervals]


def _pair(pair: object, field: str) -> tuple[float, float]:
    match pair:
        case [int() | float() as start, int() | float() as end] if math.isfinite(start) and math.isfinite(end):
            return float(start), float(end)
    raise InvalidInput("Each played interval should be two numbers: start and end in seconds.", field=field)


def heard_share(intervals: Sequence[tuple[float, float]], *, duration: float) -> float:
    """Share of 0..``duration`` covered by the union of ``intervals``; overlaps count once, what lies outside not at all."""
    if duration <= 0:
        return 0.0
    covered, reached = 0.0, 0.0
    for start, end in sorted(intervals):
        begin, stop = max(start, reached), min(end, duration)
        if stop > begin:
            covered += stop - begin
            reached = stop
    return min(1.0, covered / duration)


def heard_seconds(intervals: Sequence[tuple[float, float]], *, duration: float) -> float:
    """Seconds of 0..``duration`` that the union of ``intervals`` covers."""
    return heard_share(intervals, duration=duration) * max(0.0, duration)


def heard_possible(heard_s: float, *, elapsed_s: float) -> bool:
    """Whether so many seconds of sound, one clip at a time at the fastest speed, fit into ``elapsed_s`` of the clock."""
    return heard_s <= max(0.0, elapsed_s) * FASTEST + SLACK_S
