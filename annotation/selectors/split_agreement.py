"""How far people agree over the items of a split, or over those that a recipe would take."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.domain.agreement import NO_RATINGS, agreement
from annotation.domain.bootstrap import REPLICATES
from annotation.domain.curation import Recipe
from annotation.domain.ratings import Rating
from annotation.models import Judgement, Round
from annotation.selectors.split_judgements import Said, said_of
from eqstudio.estimates import Estimate

GRADES = (1, 2, 3, 4)
_MANY = 5_000
_FEWER = 200
"""Replicates above that many items: the interval is narrow by then, and its last digit is not worth a minute."""
_FOR_WORDS = {"alpha_ordinal": "alpha_nominal", "alpha_interval": "alpha_nominal"}


@dataclass(frozen=True)
class SplitAgreement:
    """``measure`` of ``question`` (grade, or verdict where nobody graded) with its interval."""

    measure: str
    question: str
    estimate: Estimate

    def as_dict(self) -> dict[str, Any]:
        return {"measure": self.measure, "question": self.question, "estimate": self.estimate.as_dict()}

    def meets(self, recipe: Recipe) -> bool:
        """Whether it reaches what the recipe asks for, with its whole interval if that is asked for."""
        reached = self.estimate.lo if recipe.agreement_whole else self.estimate.value
        return reached is not None and reached >= recipe.agreement_at_least


def keys_agreement(*, rounds: Sequence[Round], keys: Sequence[int], recipe: Recipe) -> SplitAgreement:
    """The recipe's measure over these dialogues, resampled by dialogue. Two queries per 500 dialogues."""
    return said_agreement(list(said_of(rounds=rounds, keys=keys)), recipe)


def said_agreement(said: Sequence[tuple[int, Said]], recipe: Recipe) -> SplitAgreement:
    """The same over judgements that were read already."""
    measure = recipe.agreement_measure
    if not any(one.votes for _key, one in said):
        return SplitAgreement(measure, "grade", Estimate.undefined(NO_RATINGS))
    replicates = _FEWER if len(said) > _MANY else REPLICATES
    clusters: dict[Hashable, Hashable] = {}
    ratings = list(_grades(said, clusters))
    if ratings:
        found = agreement(ratings, domain=GRADES, clusters=clusters, names=[measure], replicates=replicates)
        return SplitAgreement(measure, "grade", _plain(found.estimates[measure]))
    measure = _FOR_WORDS.get(measure, measure)
    votes = [Rating(key, person, verdict) for key, one in said for person, verdict in one.votes]
    found = agreement(votes, domain=Judgement.Verdict.values, level="nominal", names=[measure], replicates=replicates)
    return SplitAgreement(measure, "verdict", _plain(found.estimates[measure]))


def _grades(said: Sequence[tuple[int, Said]], clusters: dict[Hashable, Hashable]) -> Iterator[Rating]:
    for key, one in said:
        for name, given in one.grades.items():
            unit = (key, name)
            clusters[unit] = key
            yield from (Rating(unit, person, value) for person, value in given)


def _plain(found: Estimate) -> Estimate:
    """Rounded to six digits, so that two machines write the same figure."""

    def short(value: float | None) -> float | None:
        return None if value is None else round(float(value), 6)

    return replace(found, value=short(found.value), lo=short(found.lo), hi=short(found.hi))
