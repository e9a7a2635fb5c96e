"""What people said of items, gathered for a split: votes, grades by rendition, and each person's mean."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean, median
from typing import Any

from django.db.models import Q

from annotation.domain.curation.measures import difficulty, grade_spread, item_rest, verdict_agreement
from annotation.models import Grade, Round
from annotation.selectors.judgements import live_judgements

CHUNK = 500
Totals = dict[int, tuple[float, int]]


@dataclass
class Said:
    """Of one dialogue: verdicts by person, and grades by ``position/label``, each with who gave it."""

    votes: list[tuple[int, str]] = field(default_factory=list)
    grades: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    @cached_property
    def verdicts(self) -> list[str]:
        return [verdict for _person, verdict in self.votes]

    @cached_property
    def values(self) -> dict[str, list[int]]:
        return {name: [value for _person, value in given] for name, given in self.grades.items()}

    @property
    def people(self) -> int:
        return len({person for person, _verdict in self.votes})

    @property
    def agreement(self) -> float | None:
        return verdict_agreement(self.verdicts)

    @property
    def spread(self) -> float | None:
        return grade_spread(self.values)

    @property
    def difficulty(self) -> float | None:
        return difficulty(self.verdicts, self.values)

    @property
    def grade(self) -> str:
        """The median of all grades, to the nearest whole one, as a text; empty without grades."""
        given = [value for values in self.values.values() for value in values]
        return str(int(median(given) + 0.5)) if given else ""

    def item_rest(self, totals: Totals) -> float | None:
        return item_rest(person_means(self), totals)

    def summary(self, outcome: str) -> dict[str, Any]:
        """What a manifest says: no person, only counts and medians."""
        agreed = self.agreement
        return {
            "outcome": outcome,
            "votes": dict(sorted(Counter(self.verdicts).items())),
            "people": self.people,
            "agreement": None if agreed is None else round(agreed, 6),
            "median_grades": {name: float(median(given)) for name, given in sorted(self.values.items())},
        }


def person_means(said: Said) -> dict[int, float]:
    """By person, the mean of their grades of this item."""
    by_person: dict[int, list[int]] = defaultdict(list)
    for given in said.grades.values():
        for person, value in given:
            by_person[person].append(value)
    return {person: fmean(values) for person, values in by_person.items()}


def said_of(*, rounds: Sequence[Round], keys: Sequence[int]) -> Iterator[tuple[int, Said]]:
    """What counts of what was said of these dialogues in these rounds, a chunk at a time; two queries per chunk."""
    for start in range(0, len(keys), CHUNK):
        chunk = list(keys[start : start + CHUNK])
        found = {key: Said() for key in chunk}
        if rounds:
            _chunk_into(found, rounds, chunk)
        yield from found.items()


def _chunk_into(found: dict[int, Said], rounds: Sequence[Round], chunk: list[int]) -> None:
    live = live_judgements().filter(near("item__dialogue_id", chunk), item__round__in=rounds).order_by()
    judged: dict[int, tuple[int, int]] = {}
    for key, dialogue, person, verdict in live.values_list("pk", "item__dialogue_id", "annotator_id", "verdict"):
        if dialogue in found:
            judged[key] = (dialogue, person)
            found[dialogue].votes.append((person, verdict))
    said_here = near("judgement__item__dialogue_id", chunk)
    grades = Grade.objects.filter(said_here, judgement__item__round__in=rounds).order_by()
    for key, position, label, value in grades.values_list(
        "judgement_id", "variant__turn__position", "variant__label", "value"
    ):
        if key in judged:
            dialogue, person = judged[key]
            found[dialogue].grades[f"{position}/{label}"].append((person, value))


def near(field: str, keys: Sequence[int]) -> Q:
    """Rows with these keys, and a few others where the keys lie close together: a range is much cheaper than a list."""
    low, high = min(keys), max(keys)
    close = high - low < 2 * len(keys)
    return Q(**{f"{field}__gte": low, f"{field}__lte": high}) if close else Q(**{f"{field}__in": keys})


def person_totals(*, rounds: Sequence[Round], keys: Sequence[int]) -> Totals:
    """By person, the sum of their mean grades of items and the number of items."""
    totals: dict[int, tuple[float, int]] = {}
    for _key, said in said_of(rounds=rounds, keys=keys):
        for person, mean in person_means(said).items():
            total, number = totals.get(person, (0.0, 0))
            totals[person] = (total + mean, number + 1)
    return totals
