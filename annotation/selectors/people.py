"""How the people of a round work: how much, how well, and what is paid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any, NamedTuple

from django.db.models import Count, QuerySet

from annotation.domain.quality import share
from annotation.domain.severity import (
    Consistency,
    Differences,
    Drift,
    GradeRow,
    Repeated,
    consistency,
    differences,
    drift,
    severity,
)
from annotation.models import Flag, Grade, Judgement, Kind, Participation, Round, Standing
from annotation.selectors.judgements import live_judgements
from annotation.selectors.quality import checked, grades_by_judgement, last_words
from eqstudio.estimates import Estimate
from eqstudio.models import User

CONTROL = (Kind.GOLD.value, Kind.REPEAT.value)
LEARNING = (Kind.TRAINING.value, Kind.QUALIFICATION.value)


class Answer(NamedTuple):
    """The last word on one lease, of whatever kind."""

    pk: int
    annotator: int
    kind: str
    active_ms: int
    created: datetime


@dataclass
class PersonRow:
    """One person in one round. ``minutes`` are active minutes of accepted judgements of every kind: the pay basis."""

    annotator: User
    participation: Participation | None
    judgements: int = 0
    control: int = 0
    not_accepted: int = 0
    not_usable: int = 0
    minutes: float = 0.0
    seconds: float | None = None
    gold: Estimate = field(default_factory=lambda: share([]))
    agreement: Consistency = field(default_factory=lambda: consistency([]))
    severity: Estimate = field(default_factory=lambda: severity(None, seed=0))
    flags: int = 0
    last: datetime | None = None


class Standings(NamedTuple):
    """Judgements whose latest standing says so; without one a judgement is accepted and usable."""

    not_accepted: set[int]
    not_usable: set[int]


def standings(*, round: Round, annotator: User | None = None) -> Standings:  # noqa: A002 -- the word of the domain
    """One query."""
    rows = Standing.objects.filter(judgement__item__round=round).order_by("pk")
    if annotator is not None:
        rows = rows.filter(judgement__annotator=annotator)
    latest = {pk: (accepted, usable) for pk, accepted, usable in rows.values_list("judgement_id", "accepted", "usable")}
    return Standings(
        {pk for pk, (accepted, _) in latest.items() if not accepted},
        {pk for pk, (_, usable) in latest.items() if not usable},
    )


def answers(
    *,
    round: Round,  # noqa: A002
    annotator: User | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
) -> list[Answer]:
    """The last words of every kind, those of ``start`` <= created < ``end``. One query."""
    found = last_words(round=round, kinds=Kind.values, annotator=annotator)
    if start is not None:
        found = found.filter(created__gte=start)
    if end is not None:
        found = found.filter(created__lt=end)
    rows = found.order_by("pk").values_list("pk", "annotator_id", "assignment__kind", "active_ms", "created")
    return [Answer(*row) for row in rows.iterator(chunk_size=5_000)]


def people_rows(*, round: Round) -> list[PersonRow]:  # noqa: A002
    """Everybody who was invited or has answered, those with most judgements first. A fixed number of queries."""
    by_person: dict[int, list[Answer]] = defaultdict(list)
    for answer in answers(round=round):
        by_person[answer.annotator].append(answer)
    places = {place.annotator_id: place for place in round.participations.select_related("annotator")}
    people = User.objects.in_bulk(by_person.keys() | places.keys())
    marked = standings(round=round)
    gold = gold_shares(last_words(round=round, kinds=[Kind.GOLD.value]))
    repeated = repeats(round=round)
    differs = differences(grade_rows(round=round))
    open_flags = Flag.objects.filter(round=round, state=Flag.State.OPEN).order_by()
    flags = dict(open_flags.values_list("annotator_id").annotate(n=Count("pk")))
    rows = [
        PersonRow(
            annotator=user,
            participation=places.get(pk),
            gold=gold.get(pk, share([])),
            agreement=consistency(repeated.get(pk, [])),
            severity=severity(differs.get(pk), seed=round.seed),
            flags=flags.get(pk, 0),
            **_workload(by_person.get(pk, []), marked),
        )
        for pk, user in people.items()
    ]
    return sorted(rows, key=lambda row: (-row.judgements, row.annotator.username))


def _workload(given: Sequence[Answer], marked: Standings) -> dict[str, Any]:
    work = [answer for answer in given if answer.kind == Kind.WORK]
    paid = [answer for answer in given if answer.pk not in marked.not_accepted]
    times = [answer.active_ms for answer in work if answer.active_ms]
    return {
        "judgements": len(work),
        "control": sum(answer.kind in CONTROL for answer in given),
        "not_accepted": len(given) - len(paid),
        "not_usable": sum(answer.pk in marked.not_usable for answer in given),
        "minutes": sum(answer.active_ms for answer in paid) / 60_000,
        "seconds": median(times) / 1000 if times else None,
        "last": given[-1].created if given else None,
    }


def gold_shares(judgements: QuerySet[Judgement]) -> dict[int, Estimate]:
    """Share of known answers met, by person."""
    rights: dict[int, list[bool]] = defaultdict(list)
    for row in checked(judgements):
        rights[row.annotator].append(row.right)
    return {person: share(found) for person, found in rights.items()}


def grade_rows(*, round: Round) -> Iterable[GradeRow]:  # noqa: A002
    """The grades that count, in the order in which they were given. One query."""
    rows = Grade.objects.filter(judgement__in=live_judgements(round=round)).order_by("judgement_id", "pk")
    ids = rows.values_list("judgement__annotator_id", "judgement__item_id", "variant_id", "value")
    return (GradeRow(*row) for row in ids.iterator(chunk_size=5_000))


def repeats(
    *,
    round: Round,  # noqa: A002
    annotator: User | None = None,
    before: datetime | None = None,
) -> dict[int, list[Repeated]]:
    """By person what they said of an item as work and again as a repetition. Three queries."""
    again = last_words(round=round, kinds=[Kind.REPEAT.value], annotator=annotator)
    if before is not None:
        again = again.filter(created__lt=before)
    second = list(again.order_by("pk").values_list("annotator_id", "item_id", "pk", "verdict"))
    if not second:
        return {}
    work = last_words(round=round, kinds=[Kind.WORK.value], annotator=annotator)
    rows = work.filter(item__in={row[1] for row in second}).values_list("annotator_id", "item_id", "pk", "verdict")
    first = {(person, item): (pk, verdict) for person, item, pk, verdict in rows}
    grades = grades_by_judgement([row[2] for row in second] + [pk for pk, _ in first.values()])
    found: dict[int, list[Repeated]] = defaultdict(list)
    for person, item, pk, verdict in second:
        if (person, item) in first:
            earlier, said = first[person, item]
            found[person].append(Repeated((said, verdict), (grades.get(earlier, {}), grades.get(pk, {}))))
    return found


class PersonDetail(NamedTuple):
    row: PersonRow
    drift: Drift
    differences: Differences | None


def person_detail(*, round: Round, annotator: User) -> PersonDetail:  # noqa: A002
    """Everything about one person in a round. The others' grades are read, too: severity is beside them."""
    marked = standings(round=round, annotator=annotator)
    given = answers(round=round, annotator=annotator)
    gold = gold_shares(last_words(round=round, kinds=[Kind.GOLD.value], annotator=annotator))
    found = differences(grade_rows(round=round)).get(annotator.pk)
    row = PersonRow(
        annotator=annotator,
        participation=round.participations.filter(annotator=annotator).first(),
        gold=gold.get(annotator.pk, share([])),
        agreement=consistency(repeats(round=round, annotator=annotator).get(annotator.pk, [])),
        severity=severity(found, seed=round.seed),
        flags=Flag.objects.filter(round=round, annotator=annotator, state=Flag.State.OPEN).count(),
        **_workload(given, marked),
    )
    return PersonDetail(row, drift(found, seed=round.seed), found)


class PayRow(NamedTuple):
    """Active minutes of accepted judgements in a period, apart for work, control (gold, repetitions) and learning."""

    annotator: User
    accepted: int
    refused: int
    work: float
    control: float
    learning: float

    @property
    def minutes(self) -> float:
        return self.work + self.control + self.learning


def pay_rows(*, round: Round, start: datetime | None = None, end: datetime | None = None) -> list[PayRow]:  # noqa: A002
    """What is paid, by person: active time, not time on the clock, and of accepted judgements only. A judgement that was
    changed is paid once, by its last word, which has the whole time in it. Gold and repetitions are work to whom does
    them, so they are paid like it. Three queries.
    """
    refused = standings(round=round).not_accepted
    by_person: dict[int, list[Answer]] = defaultdict(list)
    for answer in answers(round=round, start=start, end=end):
        by_person[answer.annotator].append(answer)
    people = User.objects.in_bulk(by_person)
    rows = [_pay(people[pk], given, refused) for pk, given in by_person.items()]
    return sorted(rows, key=lambda row: row.annotator.username)


def _pay(annotator: User, given: Sequence[Answer], refused: set[int]) -> PayRow:
    paid = [answer for answer in given if answer.pk not in refused]

    def minutes(*kinds: str) -> float:
        return sum(answer.active_ms for answer in paid if answer.kind in kinds) / 60_000

    return PayRow(
        annotator=annotator,
        accepted=len(paid),
        refused=len(given) - len(paid),
        work=minutes(Kind.WORK.value),
        control=minutes(*CONTROL),
        learning=minutes(*LEARNING),
    )
