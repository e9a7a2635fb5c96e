"""Where a person stands in a round: a table of moves, one writer, and who may come in."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Judgement, Participation
from annotation.services.participation_moves import MOVES, VERBS, participation_move
from annotation.services.participations import (
    participation_get,
    participation_invite,
    participation_pause,
    participation_remove,
    participation_resume,
    special_next,
)
from eqstudio.errors import Conflict, IllegalMove, InvalidInput
from eqstudio.models import Event
from eqstudio.words import VERBS as SAID
from tests.annotation.quality import answer_special, known_item, place, quality_round, work
from tests.eqstudio.factories import annotator, researcher

pytestmark = pytest.mark.django_db
State = Participation.State


def test_the_table_of_moves_is_total_and_every_state_can_be_reached_and_left():
    assert set(MOVES) == set(State.values) == set(VERBS)
    assert {to.value for moves in MOVES.values() for to in moves} == set(State.values)
    assert all(MOVES.values())
    assert set(VERBS.values()) <= set(SAID)


@pytest.mark.parametrize("before", State.values)
@pytest.mark.parametrize("after", State.values)
def test_moves_follow_the_table_and_write_one_event(before, after):
    row = Participation.objects.create(round=quality_round(), annotator=annotator(), state=before)
    told = Event.objects.count()

    if after in MOVES[before]:
        participation_move(participation=row, to=State(after), actor=None, reason="gold_low")
        assert Participation.objects.get(pk=row.pk).state == after
        assert Event.objects.count() == told + 1
    else:
        with pytest.raises(IllegalMove):
            participation_move(participation=row, to=State(after), actor=None)
        assert Participation.objects.get(pk=row.pk).state == before


def test_a_move_from_a_state_that_has_passed_is_refused():
    row = participation_get(round=quality_round(), annotator=annotator())
    stale = Participation.objects.get(pk=row.pk)
    participation_pause(participation=row, actor=researcher(), note="a look first")

    with pytest.raises(Conflict, match="same moment"):
        participation_move(participation=stale, to=State.PAUSED, actor=None)


@pytest.mark.parametrize(
    ("rules", "first"),
    [
        ({}, State.ACTIVE),
        ({"training": True}, State.TRAINING),
        ({"qualification_pass": 0.8}, State.QUALIFYING),
        ({"training": True, "qualification_pass": 0.8}, State.TRAINING),
    ],
)
def test_the_first_state_follows_the_rules_of_the_round(rules, first):
    made = quality_round(quality=rules)
    person = annotator()

    assert participation_get(round=made, annotator=person).state == first
    assert participation_get(round=made, annotator=person).pk == made.participations.get().pk


def test_a_round_by_invitation_takes_in_those_who_were_invited():
    made = quality_round(quality={"training": True})
    made.invited_only = True
    made.save(update_fields=["invited_only"])
    outsider, guest = annotator(), annotator()

    turned_away = participation_get(round=made, annotator=outsider)
    assert (turned_away.state, turned_away.reason, turned_away.pk) == (State.NOT_QUALIFIED, "invitation", None)
    assert special_next(participation=turned_away, now=timezone.now()) is None

    participation_invite(round=made, annotator=guest, actor=researcher())
    participation_invite(round=made, annotator=guest, actor=researcher())
    assert made.participations.get().state == State.INVITED
    assert participation_get(round=made, annotator=guest).state == State.TRAINING


def test_only_annotators_can_be_invited():
    with pytest.raises(InvalidInput, match="not an annotator") as raised:
        participation_invite(round=quality_round(), annotator=researcher(), actor=researcher())

    assert raised.value.field == "person"


def test_a_paused_person_goes_on_where_they_were():
    made = quality_round(quality={"training": True}, training=2)
    person, lead = annotator(), researcher()
    row = place(made, person)

    participation_pause(participation=row, actor=lead, note="Please talk to me first.")
    paused = place(made, person)
    assert (paused.state, paused.reason, paused.note) == (State.PAUSED, "researcher", "Please talk to me first.")
    assert special_next(participation=paused, now=timezone.now()) is None

    participation_resume(participation=paused, actor=lead, note="All is well.")
    assert (place(made, person).state, place(made, person).note) == (State.TRAINING, "All is well.")


def test_pausing_needs_a_word_for_the_person():
    row = participation_get(round=quality_round(), annotator=annotator())

    with pytest.raises(InvalidInput, match="Say why") as raised:
        participation_pause(participation=row, actor=researcher(), note="  ")

    assert raised.value.field == "note"
    assert row.state == State.ACTIVE


def test_a_person_taken_out_keeps_their_judgements_and_can_be_invited_again():
    made = quality_round(items=1)
    person, lead = annotator(), researcher()
    place(made, person)
    work(made, person, 1)

    participation_remove(participation=place(made, person), actor=lead, note="")
    assert (place(made, person).state, place(made, person).reason) == (State.PAUSED, "removed")
    assert person.judgements.count() == 1

    participation_invite(round=made, annotator=person, actor=lead)
    assert place(made, person).state == State.ACTIVE


def test_a_paused_person_can_be_taken_out_and_still_goes_back_to_where_they_were():
    made = quality_round(quality={"training": True}, training=1)
    person, lead = annotator(), researcher()
    participation_pause(participation=place(made, person), actor=lead, note="wait")
    participation_remove(participation=place(made, person), actor=lead, note="")

    participation_invite(round=made, annotator=person, actor=lead)
    assert place(made, person).state == State.TRAINING


def test_a_paused_person_who_did_not_qualify_can_be_taken_out():
    made = quality_round(qualification=1, quality={"qualification_pass": 1.0})
    person, lead = annotator(), researcher()
    answer_special(made, person, grade=1)
    participation_pause(participation=place(made, person), actor=lead, note="wait")

    participation_remove(participation=place(made, person), actor=lead, note="")

    row = place(made, person)
    assert (row.state, row.reason, row.evidence["before"]) == (State.PAUSED, "removed", State.NOT_QUALIFIED)


def test_training_is_passed_by_answering_right_and_in_order():
    made = quality_round(training=3, quality={"training": True, "training_pass": 0.6})
    person = annotator()
    items = list(made.items.filter(kind="training").order_by("pk"))

    given = [answer_special(made, person, grade=grade) for grade in (3, 1, 3)]

    assert [judgement.item for judgement in given] == items
    assert place(made, person).state == State.ACTIVE
    assert answer_special(made, person) is None


def test_training_is_not_passed_by_merely_answering():
    made = quality_round(training=3, quality={"training": True, "training_pass": 0.6})
    person = annotator()

    for grade in (1, 1, 3):
        answer_special(made, person, grade=grade)

    row = place(made, person)
    assert (row.state, row.reason) == (State.NOT_QUALIFIED, "training")
    assert row.evidence == {"right": 1, "asked": 3, "mark": 0.6}
    assert answer_special(made, person) is None


def test_training_goes_by_the_first_answer():
    made = quality_round(training=2, quality={"training": True, "training_pass": 1.0})
    person = annotator()
    first = answer_special(made, person, grade=1)
    Judgement.objects.create(
        item=first.item, annotator=person, assignment=first.assignment, revision=1, client_key="again", verdict="keep"
    )
    answer_special(made, person, grade=3)

    assert place(made, person).state == State.NOT_QUALIFIED
    assert place(made, person).evidence["right"] == 1


def test_what_is_skipped_for_good_in_training_counts_as_wrong():
    made = quality_round(training=2, quality={"training": True, "training_pass": 0.6})
    person = annotator()
    item, kind = special_next(participation=place(made, person), now=timezone.now())
    item.assignments.create(
        annotator=person, kind=kind, slot=0, lease_until=timezone.now(), state="released", skip="unjudgeable"
    )

    answer_special(made, person, grade=3)

    assert place(made, person).state == State.NOT_QUALIFIED
    assert place(made, person).evidence["asked"] == 2


def test_what_is_put_off_in_training_comes_back_last():
    made = quality_round(training=2, quality={"training": True})
    person = annotator()
    first, kind = special_next(participation=place(made, person), now=timezone.now())
    first.assignments.create(
        annotator=person, kind=kind, slot=0, lease_until=timezone.now(), state="released", skip="me"
    )

    assert answer_special(made, person).item != first
    assert answer_special(made, person).item == first
    assert place(made, person).state == State.ACTIVE


@pytest.mark.parametrize(
    ("grades", "tries", "state", "evidence"),
    [
        ((3, 3), 2, State.ACTIVE, {}),
        ((3, 1), 1, State.NOT_QUALIFIED, {"right": 1, "asked": 2, "mark": 1.0}),
        ((3, 1), 2, State.QUALIFYING, {}),
        ((3, 1, 3, 3), 2, State.ACTIVE, {}),
        ((3, 1, 1, 1), 2, State.NOT_QUALIFIED, {"right": 0, "asked": 2, "mark": 1.0}),
        ((1, 1, 1, 1), 3, State.NOT_QUALIFIED, {"right": 0, "asked": 2, "mark": 1.0}),  # five items: no third try
    ],
)
def test_qualification_has_tries_with_items_of_their_own(grades, tries, state, evidence):
    rules = {"qualification_pass": 1.0, "qualification_items": 2, "qualification_tries": tries}
    made = quality_round(qualification=5, quality=rules)
    person = annotator()

    given = [answer_special(made, person, grade=grade) for grade in grades]

    row = place(made, person)
    assert len({judgement.item_id for judgement in given}) == len(grades)
    assert (row.state, row.evidence) == (state, evidence)
    assert row.reason == ("qualification" if state == State.NOT_QUALIFIED else "")


def test_skipping_the_last_item_of_a_try_that_is_passed_leaves_it_passed():
    rules = {"qualification_pass": 0.6, "qualification_items": 3, "qualification_tries": 2}
    made = quality_round(qualification=6, quality=rules)
    person = annotator()
    for _ in range(2):
        answer_special(made, person, grade=3)
    item, kind = special_next(participation=place(made, person), now=timezone.now())
    item.assignments.create(
        annotator=person, kind=kind, slot=0, lease_until=timezone.now(), state="released", skip="others"
    )

    assert special_next(participation=place(made, person), now=timezone.now()) is None
    assert place(made, person).state == State.ACTIVE


def test_a_researcher_lets_in_who_did_not_qualify():
    made = quality_round(qualification=1, quality={"qualification_pass": 1.0})
    person = annotator()
    answer_special(made, person, grade=1)

    participation_resume(participation=place(made, person), actor=researcher(), note="Talked it over.")

    assert place(made, person).state == State.ACTIVE


def test_without_items_nobody_is_stuck():
    made = quality_round(quality={"training": True, "qualification_pass": 1.0, "gold_first": 3, "gold_every": 2})
    person = annotator()

    assert answer_special(made, person) is None
    assert place(made, person).state == State.ACTIVE


def test_gold_comes_at_the_start_then_now_and_then_and_never_twice():
    made = quality_round(items=30, gold=6, quality={"gold_first": 2, "gold_every": 4})
    person = annotator()
    place(made, person)

    kinds = []
    for _ in range(30):
        found = special_next(participation=place(made, person), now=timezone.now())
        if found is None:
            work(made, person, 1)
            kinds.append("work")
        else:
            answer_special(made, person)
            kinds.append(found[1].value)

    gaps = "".join("g" if kind == "gold" else "w" for kind in kinds).split("g")
    assert kinds[:2] == ["gold", "gold"]
    assert kinds.count("gold") == 6
    assert all(2 <= len(gap) <= 6 for gap in gaps[2:-1])
    assert person.judgements.filter(assignment__kind="gold").values("item").distinct().count() == 6


def test_people_meet_gold_in_orders_of_their_own():
    made = quality_round(gold=6, quality={"gold_first": 6})
    orders = set()
    for _ in range(6):
        person = annotator()
        orders.add(tuple(answer_special(made, person).item_id for _ in range(6)))

    assert len(orders) > 1


@pytest.mark.parametrize("bar", ["author", "language", "twin", "seen as work"])
def test_gold_is_not_given_to_whom_it_does_not_suit(bar):
    made = quality_round(items=1, quality={"gold_first": 1})
    person = annotator()
    item = known_item(made)
    if bar == "author":
        made.items.filter(pk=item.pk).update(author=person)
    elif bar == "language":
        made.language_needed = True
        person.speaks = ["zh"]
        made.save(update_fields=["language_needed"])
    else:
        made.items.update(twin_key="the same scene")
        work(made, person, 1)
    if bar == "seen as work":
        made.items.update(twin_key="")
        made.items.filter(kind="work").update(kind="gold")
        made.items.filter(pk=item.pk).update(kind="work")

    assert special_next(participation=place_of(made, person), now=timezone.now()) is None


@pytest.mark.parametrize(
    ("draft", "offered"), [({"heard": {"clip": [[0.0, 2.5]]}}, False), ({"heard": {"clip": []}}, True), ({}, True)]
)
def test_gold_is_not_given_to_who_has_heard_its_twin_and_skipped_it(draft, offered):
    made = quality_round(items=1, quality={"gold_first": 1})
    person, now = annotator(), timezone.now()
    item = known_item(made)
    made.items.update(twin_key="the same scene")
    made.items.get(kind="work").assignments.create(
        annotator=person, slot=0, lease_until=now, state="released", skip="me", ended_at=now, draft=draft
    )

    found = special_next(participation=place_of(made, person), now=now)

    assert (found is not None and found[0] == item) == offered


def place_of(made, person):
    row = participation_get(round=made, annotator=person)
    row.annotator = person
    return row


def test_skipped_gold_does_not_come_straight_back():
    made = quality_round(gold=1, quality={"gold_first": 1})
    person = annotator()
    item, kind = special_next(participation=place(made, person), now=timezone.now())
    now = timezone.now()
    item.assignments.create(
        annotator=person, kind=kind, slot=0, lease_until=now, state="released", skip="me", ended_at=now
    )

    assert special_next(participation=place(made, person), now=now) is None
    assert special_next(participation=place(made, person), now=now + timedelta(hours=1))[0] == item


def test_a_repetition_comes_after_the_gap_and_once_for_an_item():
    made = quality_round(items=12, quality={"repeat_every": 2, "repeat_gap": 3})
    person = annotator()
    place(made, person)

    repeated = []
    for _ in range(15):
        found = special_next(participation=place(made, person), now=timezone.now())
        if found is None:
            if person.judgements.filter(assignment__kind="work").count() == 12:
                break
            work(made, person, 1)
        else:
            assert found[1] == "repeat"
            latest = person.judgements.filter(assignment__kind="work").order_by("-pk")
            assert found[0].pk not in list(latest.values_list("item", flat=True)[:3])
            repeated.append(answer_special(made, person).item_id)

    assert len(repeated) >= 2
    assert len(set(repeated)) == len(repeated)
