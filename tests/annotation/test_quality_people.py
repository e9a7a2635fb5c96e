"""The figures about people: work, pay, gold, consistency, severity, and what a person may know of their own."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.domain.quality import Doubt, doubts
from annotation.models import Judgement
from annotation.selectors.gold import gold_rows
from annotation.selectors.my_work import my_work
from annotation.selectors.people import pay_rows, people_rows, person_detail
from annotation.services import judgement_retract
from annotation.services.flags import standing_set
from annotation.services.participations import participation_invite
from tests.annotation.factories import judged_round, submit
from tests.annotation.quality import answer_special, judge, known_item, place, quality_round, work
from tests.eqstudio.factories import annotator, researcher

pytestmark = pytest.mark.django_db


def refuse(judgement, *, accepted=False, usable=True):
    standing_set(
        judgement=judgement, accepted=accepted, usable=usable, reason="test", actor=researcher(), now=timezone.now()
    )


def row_of(round_, person):
    return next(row for row in people_rows(round=round_) if row.annotator == person)


def test_a_row_tells_work_gold_consistency_and_severity():
    made = quality_round(items=2, gold=2, quality={"gold_first": 2, "gold_pass": 0.5}, people_per_item=2)
    person, other = annotator(), annotator()
    answer_special(made, person, grade=3, active_ms=30_000)
    answer_special(made, person, grade=1, active_ms=30_000)
    work(made, person, 2, grade=3, active_ms=60_000)
    work(made, other, 2, grade=2, active_ms=20_000)
    judge(made.items.filter(kind="work").first(), person, "repeat", grade=2, active_ms=30_000)

    row = row_of(made, person)

    assert (row.judgements, row.control, row.flags) == (2, 3, 0)
    assert row.minutes == 3.5
    assert row.seconds == 60.0
    assert (row.gold.value, row.gold.n) == (0.5, 2)
    assert (row.agreement.verdicts.value, row.agreement.grades.value, row.agreement.difference.value) == (1.0, 0.0, 1.0)
    assert (row.severity.value, row.severity.n) == (1.0, 8)  # the repetition is not among the grades that count
    assert row_of(made, other).severity.value == -1.0
    assert person_detail(round=made, annotator=person).row == row


def test_somebody_invited_is_listed_before_they_begin():
    made = quality_round()
    guest = annotator()
    participation_invite(round=made, annotator=guest, actor=researcher())

    (row,) = people_rows(round=made)

    assert (row.annotator, row.judgements, row.minutes, row.last) == (guest, 0, 0.0, None)
    assert row.gold.reason == "nothing was asked"
    assert row.severity.reason == "nobody else graded the same"


def test_listing_people_takes_the_same_queries_for_one_and_for_four(django_assert_num_queries):
    def queries(people):
        made = quality_round(items=1, gold=1, quality={"gold_first": 1}, people_per_item=9)
        for _ in range(people):
            person = annotator()
            answer_special(made, person)
            work(made, person, 1)
            judge(made.items.filter(kind="work").first(), person, "repeat")
        return made

    one, four = queries(1), queries(4)
    with django_assert_num_queries(12) as counted:
        people_rows(round=one)
    with django_assert_num_queries(len(counted)):
        people_rows(round=four)


def test_pay_counts_accepted_judgements_of_every_kind():
    made = quality_round(items=2, gold=1, training=1, quality={"training": True, "gold_first": 1})
    person = annotator()
    answer_special(made, person, active_ms=60_000)  # training
    answer_special(made, person, active_ms=120_000)  # gold
    work(made, person, 2, active_ms=180_000)
    judge(made.items.filter(kind="work").first(), person, "repeat", active_ms=60_000)
    refuse(person.judgements.filter(assignment__kind="work").last())

    (row,) = pay_rows(round=made)

    assert (row.learning, row.control, row.work, row.minutes) == (1.0, 3.0, 3.0, 7.0)
    assert (row.accepted, row.refused) == (4, 1)


def test_pay_counts_a_changed_judgement_once():
    made = quality_round(items=1)
    person = annotator()
    place(made, person)
    work(made, person, 1, active_ms=60_000)
    lease = judgement_retract(judgement=Judgement.objects.get(), actor=person, now=timezone.now())
    assert pay_rows(round=made) == []
    submit(lease, active_ms=lease.draft["active_ms"] + 30_000)

    (row,) = pay_rows(round=made)

    assert row.minutes == 1.5


def test_pay_keeps_to_its_period_and_unusable_work_is_paid():
    made = judged_round(items=1)
    for judgement in Judgement.objects.all():
        refuse(judgement, accepted=True, usable=False)
    now = timezone.now()

    assert sum(row.accepted for row in pay_rows(round=made)) == 3
    assert pay_rows(round=made, end=now - timedelta(hours=1)) == []
    assert pay_rows(round=made, start=now + timedelta(hours=1)) == []
    assert len(pay_rows(round=made, start=now - timedelta(hours=1), end=now + timedelta(hours=1))) == 3


def test_the_latest_standing_counts():
    made = judged_round(items=1)
    judgement = Judgement.objects.first()
    refuse(judgement)
    assert row_of(made, judgement.annotator).not_accepted == 1

    refuse(judgement, accepted=True)

    assert row_of(made, judgement.annotator).not_accepted == 0
    assert judgement.standings.count() == 2


# Gold items


def test_doubts_leave_the_item_itself_out():
    good = {1: True, 2: True, 3: False}

    found = doubts(dict.fromkeys(range(3), good) | {9: {1: False, 2: False, 3: True}}, mark=0.7)

    assert found[3] == Doubt(failed=3, good=3)
    assert found[3].suspicious
    assert 1 not in found  # who missed item 3 has one of two others right, which is no good judge by this mark
    assert doubts({1: {1: True, 2: False}}, mark=0.5) == {}


@pytest.mark.parametrize(
    ("doubt", "suspicious"),
    [(Doubt(2, 2), False), (Doubt(2, 3), True), (Doubt(1, 3), False), (Doubt(2, 4), False), (Doubt(3, 4), True)],
)
def test_an_answer_is_suspicious_when_most_good_judges_fail(doubt, suspicious):
    assert doubt.suspicious is suspicious


def test_gold_rows_tell_rates_and_the_answer_that_most_good_judges_miss():
    made = quality_round(gold=2, quality={"gold_first": 3})
    wrong = known_item(made, grade=1)
    for _ in range(3):
        person = annotator()
        for _ in range(3):
            answer_special(made, person, grade=3)

    rows = gold_rows(round=made)

    assert [(row.rate.value, row.rate.n) for row in rows] == [(1.0, 3), (1.0, 3), (0.0, 3)]
    assert [row.item for row in rows if row.doubt.suspicious] == [wrong]


# One's own


def test_ones_own_page_counts_all_kinds_alike():
    made = quality_round(items=1, gold=1, quality={"gold_first": 1})
    person = annotator()
    answer_special(made, person, active_ms=60_000)
    after_gold = my_work(annotator=person, now=timezone.now())
    work(made, person, 1, active_ms=60_000)
    refuse(person.judgements.last(), accepted=True, usable=False)

    found = my_work(annotator=person, now=timezone.now())

    assert after_gold.today == after_gold.all == found.all.__class__(1, 1.0, 1, 1)
    assert (found.all.answers, found.all.minutes, found.all.accepted, found.all.usable) == (2, 2.0, 2, 1)
    (row,) = found.rounds
    assert (row.amount, row.gold, row.again) == (found.all, None, None)


def test_gold_is_told_a_day_later_where_the_round_tells_it():
    made = quality_round(items=1, gold=2, quality={"gold_first": 2})
    made.show_feedback = True
    made.save(update_fields=["show_feedback"])
    person = annotator()
    answer_special(made, person, grade=3)
    answer_special(made, person, grade=1)
    now = timezone.now()

    (today,) = my_work(annotator=person, now=now).rounds
    (tomorrow,) = my_work(annotator=person, now=now + timedelta(days=1)).rounds

    assert (today.gold.reason, today.again.grades.reason) == ("nothing was asked", "nothing was repeated")
    assert (tomorrow.gold.value, tomorrow.gold.n) == (0.5, 2)
