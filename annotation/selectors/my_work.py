"""What a person may know of their own work. Gold and repetitions are counted like everything else, and what is told of
them ends with yesterday: a figure that moved with an answer would tell which item it was.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.utils import timezone

from annotation.domain.quality import share
from annotation.domain.severity import Consistency, consistency
from annotation.models import Kind, Participation, Round, Standing
from annotation.selectors.people import gold_shares, repeats
from annotation.selectors.quality import last_words
from eqstudio.estimates import Estimate
from eqstudio.models import User

DAYS = 7
_COUNTED = [kind for kind in Kind.values if kind != Kind.TRAINING]


class Mine(NamedTuple):
    """One answer of one's own."""

    pk: int
    round: int
    active_ms: int
    created: datetime


@dataclass(frozen=True)
class Amount:
    """Answers and active minutes; ``accepted`` and ``usable`` of them."""

    answers: int
    minutes: float
    accepted: int
    usable: int


@dataclass(frozen=True)
class RoundOfMine:
    """Where one stands in a round. The figures are None where the round does not show them."""

    place: Participation
    round: Round
    amount: Amount
    gold: Estimate | None
    again: Consistency | None


@dataclass(frozen=True)
class MyWork:
    today: Amount
    week: Amount
    all: Amount
    rounds: list[RoundOfMine]
    until: datetime
    """Until when gold and repetitions are told: the last midnight."""


def my_work(*, annotator: User, now: datetime) -> MyWork:
    """Everything the person's own page shows. Queries grow with the rounds that show feedback only."""
    words = last_words(kinds=_COUNTED, annotator=annotator).order_by("pk")
    mine = [Mine(*row) for row in words.values_list("pk", "item__round", "active_ms", "created")]
    refused, unusable = _standings(annotator)
    midnight = timezone.localtime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    by_round: dict[int, list[Mine]] = defaultdict(list)
    for answer in mine:
        by_round[answer.round].append(answer)

    def amount(rows: Sequence[Mine]) -> Amount:
        return Amount(
            answers=len(rows),
            minutes=sum(row.active_ms for row in rows) / 60_000,
            accepted=sum(row.pk not in refused for row in rows),
            usable=sum(row.pk not in unusable for row in rows),
        )

    places = Participation.objects.filter(annotator=annotator).select_related("round").order_by("-pk")
    return MyWork(
        today=amount([row for row in mine if row.created >= midnight]),
        week=amount([row for row in mine if row.created >= midnight - timedelta(days=DAYS - 1)]),
        all=amount(mine),
        rounds=[_round(place, annotator, amount(by_round[place.round_id]), midnight) for place in places],
        until=midnight,
    )


def _standings(annotator: User) -> tuple[set[int], set[int]]:
    rows = Standing.objects.filter(judgement__annotator=annotator).order_by("pk")
    latest = {pk: (accepted, usable) for pk, accepted, usable in rows.values_list("judgement_id", "accepted", "usable")}
    return (
        {pk for pk, (accepted, _) in latest.items() if not accepted},
        {pk for pk, (_, usable) in latest.items() if not usable},
    )


def _round(place: Participation, annotator: User, amount: Amount, midnight: datetime) -> RoundOfMine:
    round_ = place.round
    if not round_.show_feedback:
        return RoundOfMine(place, round_, amount, None, None)
    return RoundOfMine(
        place,
        round_,
        amount,
        gold_until(round=round_, annotator=annotator, until=midnight),
        consistency(repeats(round=round_, annotator=annotator, before=midnight).get(annotator.pk, [])),
    )


def gold_until(*, round: Round, annotator: User, until: datetime) -> Estimate:  # noqa: A002 -- the word of the domain
    """The share of known answers met, of answers before ``until``."""
    words = last_words(round=round, kinds=[Kind.GOLD.value], annotator=annotator).filter(created__lt=until)
    return gold_shares(words).get(annotator.pk, share([]))


def stopped_places(*, annotator: User) -> list[Participation]:
    """Rounds that are open and in which the person is paused or did not qualify. One query."""
    stopped = [Participation.State.PAUSED, Participation.State.NOT_QUALIFIED]
    found = Participation.objects.filter(annotator=annotator, state__in=stopped, round__state=Round.State.OPEN)
    return list(found.select_related("round").order_by("-pk"))


def invitations(*, annotator: User) -> list[Participation]:
    """Rounds that are open and wait for the person to begin. One query."""
    found = Participation.objects.filter(
        annotator=annotator, state=Participation.State.INVITED, round__state=Round.State.OPEN
    )
    return list(found.select_related("round").order_by("-pk"))
