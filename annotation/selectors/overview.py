"""What a round's dashboard tells beside agreement: reasons, problems with sound, what cannot be judged, and how agreement
went over time.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from django.db.models import Count, QuerySet

from annotation.domain.agreement import agreement_of
from annotation.models import Assignment, AudioProblem, Judgement, Round
from annotation.selectors.agreement import day_label, latest_day, week_label, week_of
from annotation.selectors.coded import Arrays
from annotation.selectors.dimensions import Dimension
from annotation.selectors.imported import imported_ratings
from annotation.selectors.judgements import live_judgements

POINTS = 60
DAYS = 42
"""A round of up to six weeks is drawn by day, a longer one by week."""
PROBLEMS_SHOWN = 8


def reasons_for_rejection(*, round: Round, arrays: Arrays) -> list[tuple[str, int]]:  # noqa: A002
    """Codes of reasons with how many rejections name them, most frequent first; kept while nothing changes."""
    if "reasons" not in arrays.results:
        rejects = live_judgements(round=round).filter(verdict=Judgement.Verdict.REJECT).order_by()
        counted: Counter[str] = Counter()
        for codes in rejects.values_list("reasons", flat=True).iterator(chunk_size=5_000):
            counted.update(codes)
        arrays.results["reasons"] = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
    found: list[tuple[str, int]] = arrays.results["reasons"]
    return found


def audio_problems(*, round: Round) -> QuerySet[AudioProblem]:  # noqa: A002
    """What listeners reported about sound, latest first."""
    return AudioProblem.objects.filter(item__round=round).select_related("item__dialogue", "variant").order_by("-pk")


def unjudgeable(*, round: Round) -> QuerySet[Assignment]:  # noqa: A002
    """Reservations given back because the item cannot be judged, latest first."""
    given_back = Assignment.objects.filter(item__round=round, skip=Assignment.Skip.UNJUDGEABLE)
    return given_back.select_related("item__dialogue").order_by("-ended_at", "-pk")


def imported_raters(*, round: Round) -> list[tuple[str, int]]:  # noqa: A002
    """Raters of imported judgements and how many they gave."""
    found = imported_ratings(round=round).order_by().values_list("rater").annotate(n=Count("pk"))
    return sorted(found)


def over_time(dimension: Dimension, name: str) -> list[dict[str, Any]]:
    """Agreement on what was judged up to each day (or week) on which anything was: label, ordinal, Estimate, items."""
    people = dimension.people()
    latest = latest_day(people)
    known = latest[latest > 0]
    if not len(known):
        return []
    weekly = int(known.max() - known.min()) >= DAYS
    at = week_of(latest) if weekly else latest
    label = week_label if weekly else day_label
    steps = np.unique(at[at > 0])[-POINTS:]
    points = []
    for step in steps.tolist():
        table, clusters = people.where(at <= step).table()
        found = agreement_of(table, level=people.level, clusters=clusters, names=[name])
        points.append({"label": label(step), "day": step, "estimate": found.estimates[name], "items": found.items})
    return points
