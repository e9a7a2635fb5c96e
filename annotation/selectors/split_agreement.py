"""How far people agree over the items of a split, or over those that a recipe would take."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.domain.agreement import NO_RATINGS, agreement_of
from annotation.domain.bootstrap import REPLICATES
from annotation.domain.compact import CompactRatings
from annotation.domain.curation import Recipe
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


class SaidRatings:
    """The grades and votes of very many items, small enough to be held while a recipe chooses among them."""

    def __init__(self) -> None:
        self._grades = CompactRatings(GRADES)
        self._votes = CompactRatings(Judgement.Verdict.values)
        self._keys = array("q")

    def add(self, key: int, said: Said) -> None:
        self._keys.append(key)
        self._grades.add(key, said.grades.values())
        self._votes.add(key, [said.votes])

    def agreement(self, recipe: Recipe, keys: Sequence[int] | None = None) -> SplitAgreement:
        """The recipe's measure over these dialogues (all that were added), resampled by dialogue in this order."""
        wanted = self._keys if keys is None else keys
        measure = recipe.agreement_measure
        replicates = _FEWER if len(wanted) > _MANY else REPLICATES
        votes = self._votes.table(wanted).table
        if not votes.items:
            return SplitAgreement(measure, "grade", Estimate.undefined(NO_RATINGS))
        table, clusters = self._grades.table(wanted)
        if table.items:
            found = agreement_of(table, clusters=clusters, names=[measure], replicates=replicates)
            return SplitAgreement(measure, "grade", _plain(found.estimates[measure]))
        measure = _FOR_WORDS.get(measure, measure)
        found = agreement_of(votes, level="nominal", names=[measure], replicates=replicates)
        return SplitAgreement(measure, "verdict", _plain(found.estimates[measure]))


def keys_agreement(*, rounds: Sequence[Round], keys: Sequence[int], recipe: Recipe) -> SplitAgreement:
    """The recipe's measure over these dialogues, resampled by dialogue. Two queries per 500 dialogues."""
    ratings = SaidRatings()
    for key, said in said_of(rounds=rounds, keys=keys):
        ratings.add(key, said)
    return ratings.agreement(recipe)


def _plain(found: Estimate) -> Estimate:
    """Rounded to six digits, so that two machines write the same figure."""

    def short(value: float | None) -> float | None:
        return None if value is None else round(float(value), 6)

    return replace(found, value=short(found.value), lo=short(found.lo), hi=short(found.hi))
