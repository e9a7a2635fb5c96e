"""Known answers, who met them, and what a person may be told of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotation.domain.quality import Known, QualityRules, gold_check
from annotation.models import Assignment, GoldAnswer, Grade, HeadphoneCheck, Judgement, Kind, Round, RoundItem
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict
from eqstudio.models import User

State = Assignment.State
ANSWERED = (State.SUBMITTED.value, State.LATE.value)
KNOWN_KINDS = (Kind.GOLD.value, Kind.TRAINING.value, Kind.QUALIFICATION.value)
SHOWN_KINDS = (Kind.WORK.value, Kind.GOLD.value, Kind.REPEAT.value)
"""Kinds that look alike to a person."""


def rules_of(round: Round) -> QualityRules:  # noqa: A002 -- the word of the domain
    """The round's rules for its judges."""
    return QualityRules.from_dict(round.quality)


def last_words(
    *,
    kinds: Iterable[str],
    round: Round | None = None,  # noqa: A002
    annotator: User | None = None,
) -> QuerySet[Judgement]:
    """The last judgement on each answered lease of these kinds, late ones too; taken back and replaced ones left out."""
    later = Judgement.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    found = Judgement.objects.filter(
        ~Exists(later), retracted=False, assignment__kind__in=list(kinds), assignment__state__in=ANSWERED
    )
    if round is not None:
        found = found.filter(item__round=round)
    return found if annotator is None else found.filter(annotator=annotator)


def first_words(*, round: Round, kinds: Iterable[str], annotator: User | None = None) -> QuerySet[Judgement]:  # noqa: A002
    """The first judgement on each lease of these kinds: after training has shown the answer, a second one tells nothing."""
    earlier = Judgement.objects.filter(assignment=OuterRef("assignment"), revision__lt=OuterRef("revision"))
    found = Judgement.objects.filter(
        ~Exists(earlier), retracted=False, item__round=round, assignment__kind__in=list(kinds)
    )
    return found if annotator is None else found.filter(annotator=annotator)


def known_answers(*, items: Iterable[int]) -> dict[int, GoldAnswer]:
    """The latest known answer by item; items whose latest one is empty have none any more."""
    rows = GoldAnswer.objects.filter(item__in=list(items)).order_by("item_id", "-pk")
    latest: dict[int, GoldAnswer] = {}
    for row in rows:
        latest.setdefault(row.item_id, row)
    return {item: row for item, row in latest.items() if row.verdict or row.grades}


class Checked(NamedTuple):
    """A judgement of an item with a known answer."""

    judgement: int
    lease: str
    annotator: int
    item: int
    right: bool
    created: datetime


def checked(judgements: QuerySet[Judgement]) -> list[Checked]:
    """Each held against the answer that is known now, oldest first. Items that are no longer asked for that way, and
    those without a known answer, are left out. Three queries.
    """
    rows = list(
        judgements.filter(item__kind=F("assignment__kind"))
        .order_by("pk")
        .values_list("pk", "assignment__uid", "annotator_id", "item_id", "verdict", "created")
    )
    known = known_answers(items={row[3] for row in rows}) if rows else {}
    grades = grades_by_judgement([row[0] for row in rows])
    return [
        Checked(pk, lease, person, item, _right(known[item], verdict, grades.get(pk, {})), created)
        for pk, lease, person, item, verdict, created in rows
        if item in known
    ]


def _right(answer: GoldAnswer, verdict: str, grades: dict[str, int]) -> bool:
    known = Known(answer.verdict, answer.grades, answer.tolerance)
    return gold_check(known, verdict=verdict, grades=grades).right


def grades_by_judgement(judgements: Sequence[int]) -> dict[int, dict[str, int]]:
    """Grades by variant uid, by judgement. One query for each thousand."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for start in range(0, len(judgements), 1_000):
        rows = Grade.objects.filter(judgement__in=judgements[start : start + 1_000])
        for judgement, uid, value in rows.values_list("judgement_id", "variant__uid", "value"):
            found[judgement][uid] = value
    return found


def items_with_answers(*, round: Round, kind: str) -> list[RoundItem]:  # noqa: A002
    """The items of a kind that have a known answer, in the order in which they came in. Two queries."""
    items = list(round.items.filter(kind=kind).select_related("dialogue").order_by("pk"))
    known = known_answers(items=[item.pk for item in items])
    return [item for item in items if item.pk in known]


def graded_uids(item: RoundItem) -> list[str]:
    """Variant uids of an item that get a grade, in order of turn and row."""
    roles = benchmark_get(item.dialogue.benchmark).review_form.graded_roles
    turns = item.dialogue.turns.filter(role__in=roles).order_by("position").prefetch_related("variants")
    return [variant.uid for turn in turns for variant in sorted(turn.variants.all(), key=lambda row: row.pk)]


def training_feedback(*, judgement: Judgement) -> dict[str, Any] | None:
    """What a person is told after a training item: whether they were right, the expected verdict and grades by the
    letters they saw, and why. None for every other kind, and where no answer is known.
    """
    lease = judgement.assignment
    if lease.kind != Kind.TRAINING:
        return None
    answer = known_answers(items=[judgement.item_id]).get(judgement.item_id)
    if answer is None:
        return None
    given = grades_by_judgement([judgement.pk]).get(judgement.pk, {})
    found = gold_check(Known(answer.verdict, answer.grades, answer.tolerance), verdict=judgement.verdict, grades=given)
    letters = _letters(judgement)
    return {
        "right": found.right,
        "verdict": answer.verdict,
        "verdict_right": found.verdict,
        "grades": [
            {
                "letter": letters.get(uid, "?"),
                "expected": value,
                "given": given.get(uid),
                "tolerance": answer.tolerance,
                "right": found.grades[uid],
            }
            for uid, value in sorted(answer.grades.items(), key=lambda pair: letters.get(pair[0], "?"))
        ],
        "explanation": answer.explanation,
    }


def _letters(judgement: Judgement) -> dict[str, str]:
    """The same letters as the listening page: through all graded turns in the order shown."""
    item = judgement.item
    roles = benchmark_get(item.dialogue.benchmark).review_form.graded_roles
    positions = item.dialogue.turns.filter(role__in=roles).order_by("position").values_list("position", flat=True)
    shown = judgement.assignment.shown
    uids = [uid for position in positions for uid in shown.get(str(position), [])]
    return {uid: _letter(place) for place, uid in enumerate(uids)}


def _letter(place: int) -> str:
    turn, letter = divmod(place, 26)
    return chr(ord("A") + letter) + (str(turn) if turn else "")


def headphones_passed(*, annotator: User, hours: int, now: datetime) -> bool:
    """Whether the person has passed a headphone check within so many hours."""
    since = now - timedelta(hours=hours)
    return HeadphoneCheck.objects.filter(annotator=annotator, passed=True, created__gt=since).exists()


def headphones_due(*, round: Round, annotator: User, now: datetime) -> bool:  # noqa: A002
    """Whether the round wants a headphone check that the person has not passed of late. At most one query."""
    rules = rules_of(round)
    return rules.headphones and not headphones_passed(annotator=annotator, hours=rules.headphones_hours, now=now)


def headphones_require(*, round: Round, annotator: User, now: datetime) -> None:  # noqa: A002
    """Conflict where a headphone check is due."""
    if headphones_due(round=round, annotator=annotator, now=now):
        raise Conflict(_("This round is judged on headphones. Open its page and do the short check first."))
