"""Whose replies are judged better, by how much, and whether that is more than chance: paired on the items both replied to.

The families are those of the comparison: on one scale by one assessor, people against each system, and systems against each
other, each corrected by Holm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from evaluation.domain import baselines as bl
from evaluation.domain import statistics as st
from evaluation.domain.judging import SCALES
from evaluation.domain.resampling import Floats, Resampling
from evaluation.models import Respondent
from evaluation.services.comparison_pairs import CLAIMS
from evaluation.services.reply_grades import PEOPLE_KIND, Group, Reply

BY_PEOPLE = ""
"""The assessor where people judged; judge models go by their names."""
Grade = Callable[[Reply], float | None]


class _Items(NamedTuple):
    """The items that were replied to, with what each shares with others, and one resampling for all pairs."""

    names: tuple[str, ...]
    clusters: dict[str, str]
    resampling: Resampling

    @property
    def clustered(self) -> bool:
        return len(set(self.clusters.values())) < len(self.clusters)


def reply_pairs(
    groups: Sequence[Group], judges: Mapping[str, Sequence[str]], rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Every two lines on each scale, by people and by each of ``judges`` (name -> scales). What people gave a reply is the mean
    of those who judged it; persons who replied and clusters of items are resampled together.
    """
    compared = [group for group in groups if group.kind != Respondent.Kind.PERSON]
    clusters = {one.item: one.cluster for group in compared for one in group.replies}
    names = tuple(sorted(clusters))
    people = max((len(group.persons) for group in compared if group.kind == PEOPLE_KIND), default=0)
    items = _Items(names, clusters, Resampling.draw([clusters[name] for name in names], people, rng=rng))
    found: list[dict[str, Any]] = []
    for by, scales in {BY_PEOPLE: [scale.name for scale in SCALES], **judges}.items():
        for scale in scales:
            pairs = [
                {"by": by, "scale": scale, **_pair(a, b, _grade(by, scale), items, rng)}
                for a, b in combinations(compared, 2)
            ]
            found += _corrected([pair for pair in pairs if pair["difference"]["value"] is not None])
    return found


def _grade(by: str, scale: str) -> Grade:
    def by_people(reply: Reply) -> float | None:
        given = reply.people.get(scale)
        return fmean(given.values()) if given else None

    def by_judge(reply: Reply) -> float | None:
        return reply.judges.get(by, {}).get(scale)

    return by_people if by == BY_PEOPLE else by_judge


def _by_item(replies: Sequence[Reply], grade: Grade) -> dict[str, float]:
    """The mean over one respondent's replies to each item."""
    given: dict[str, list[float]] = {}
    for one in replies:
        value = grade(one)
        if value is not None:
            given.setdefault(one.item, []).append(value)
    return {item: fmean(values) for item, values in given.items()}


def _pair(a: Group, b: Group, grade: Grade, items: _Items, rng: np.random.Generator) -> dict[str, Any]:
    theirs = _by_item(b.replies, grade)
    if a.kind == PEOPLE_KIND:
        people = np.stack([_line(_by_item(one, grade), items) for one in a.persons])
        clusters = [items.clusters[name] for name in items.names]
        found = bl.crossed_compare(people, _line(theirs, items), clusters, resampling=items.resampling, rng=rng)
    else:
        ours = _by_item(a.replies, grade)
        place = {name: at for at, name in enumerate(items.names)}
        shared = {place[name]: items.clusters[name] for name in items.names} if items.clustered else None
        found = st.paired_compare(
            {place[item]: value for item, value in ours.items()},
            {place[item]: value for item, value in theirs.items()},
            shared,
            rng=rng,
        )
    return {
        "a": a.name,
        "b": b.name,
        "family": "people" if a.kind == PEOPLE_KIND else "systems",
        "difference": found.difference.as_dict(),
        "p": found.p,
        "p_holm": None,
        "family_size": None,
        "test": found.test,
        "mde": found.mde,
        "discordant": found.discordant,
    }


def _line(figures: Mapping[str, float], items: _Items) -> Floats:
    return np.asarray([figures.get(name, np.nan) for name in items.names])


def _corrected(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for family in CLAIMS:
        tested = [pair for pair in pairs if pair["family"] == family and pair["p"] is not None]
        for pair, p_holm in zip(tested, st.adjusted([pair["p"] for pair in tested]), strict=True):
            pair["p_holm"] = p_holm
            pair["family_size"] = len(tested)
    return pairs
