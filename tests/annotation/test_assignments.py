"""Leases: who gets what, for how long, and that no race hands out more than was asked for."""

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.models import Assignment, Round
from annotation.selectors import queue_state
from annotation.services import (
    assignment_extend,
    assignment_next,
    assignment_release,
    assignments_expire,
    draft_save,
    round_set_state,
)
from eqstudio.errors import Conflict, InvalidInput
from tests.annotation.factories import judged_round, lease, round_with, submit
from tests.eqstudio.factories import annotator

pytestmark = pytest.mark.django_db


def test_the_lease_a_person_has_is_returned_again():
    made, person = round_with(items=2), annotator()

    assert lease(made, person).pk == lease(made, person).pk


def test_two_people_get_different_slots_of_one_item():
    made = round_with()

    assert [lease(made).slot, lease(made).slot, lease(made).slot] == [0, 1, 2]


def test_no_more_people_than_asked_for():
    made = round_with(people_per_item=2)
    lease(made)
    lease(made)

    assert assignment_next(round=made, annotator=annotator(), now=timezone.now()) is None


def test_nobody_judges_an_item_twice():
    made, person = round_with(), annotator()
    submit(lease(made, person))

    assert assignment_next(round=made, annotator=person, now=timezone.now()) is None


def test_items_with_the_fewest_people_come_first():
    made = round_with(items=3, people_per_item=2)

    first = {lease(made).item_id for _ in range(3)}

    assert first == set(made.items.values_list("pk", flat=True))


def test_a_fixed_order_is_the_order_of_the_round():
    made, person = round_with(items=3, order="fixed"), annotator()
    got = []
    while (found := assignment_next(round=made, annotator=person, now=timezone.now())) is not None:
        got.append(found.item_id)
        submit(found)

    assert got == list(made.items.values_list("pk", flat=True))


def test_a_lease_that_is_over_frees_its_slot_and_keeps_the_draft_for_its_person():
    made, person, now = round_with(people_per_item=1, agree_needed=1), annotator(), timezone.now()
    first = lease(made, person, now=now)
    draft_save(assignment=first, draft={"comment": "half a thought"})
    later = now + timedelta(minutes=21)

    again = lease(made, person, now=later)

    assert again.pk != first.pk
    assert again.draft == {"comment": "half a thought"}
    assert Assignment.objects.get(pk=first.pk).state == "expired"


def test_every_turn_is_shown_and_the_order_is_the_same_on_every_call():
    made, person, now = round_with(), annotator(), timezone.now()
    first = lease(made, person, now=now)
    again = lease(made, person, now=now + timedelta(minutes=21))

    assert first.shown == again.shown
    assert sorted(first.shown) == ["1", "2", "3", "4", "5", "6"]
    assert [len(uids) for _, uids in sorted(first.shown.items())] == [1, 1, 1, 2, 1, 2]


def test_people_see_the_variants_in_different_orders():
    made = round_with(people_per_item=12)

    shown = {tuple(lease(made).shown["4"]) for _ in range(12)}

    assert len(shown) == 2


def test_a_skipped_item_goes_to_others_and_does_not_come_straight_back():
    made, person, now = round_with(people_per_item=1, agree_needed=1), annotator(), timezone.now()
    assignment_release(assignment=lease(made, person, now=now), now=now, reason="audio problem")

    assert assignment_next(round=made, annotator=person, now=now) is None
    assert lease(made, now=now).slot == 0


def test_a_skipped_item_comes_back_later():
    made, person, now = round_with(), annotator(), timezone.now()
    assignment_release(assignment=lease(made, person, now=now), now=now)

    assert lease(made, person, now=now + timedelta(minutes=21)).item.round_id == made.pk


def test_extending_prolongs_the_lease():
    made, now = round_with(lease_minutes=10), timezone.now()
    found = lease(made, now=now)

    extended = assignment_extend(assignment=found, now=now + timedelta(minutes=9))

    assert extended.lease_until == now + timedelta(minutes=19)


def test_extending_brings_an_ended_lease_back_while_its_slot_is_free():
    made, now = round_with(), timezone.now()
    found = lease(made, now=now)
    later = now + timedelta(minutes=30)
    assignments_expire(now=later)

    assert assignment_extend(assignment=found, now=later).state == "active"


def test_extending_after_somebody_else_took_the_slot_is_refused():
    made, now = round_with(people_per_item=1, agree_needed=1), timezone.now()
    found = lease(made, now=now)
    later = now + timedelta(minutes=30)
    lease(made, now=later)

    with pytest.raises(Conflict, match="answer is kept"):
        assignment_extend(assignment=found, now=later)


def test_expiring_leaves_running_leases_alone():
    made, now = round_with(), timezone.now()
    lease(made, now=now)

    assert assignments_expire(now=now + timedelta(minutes=19)) == 0
    assert assignments_expire(now=now + timedelta(minutes=20)) == 1


@pytest.mark.parametrize("draft", [["a list"], {"comment": "x" * 70_000}])
def test_a_draft_that_is_no_small_object_is_refused(draft):
    with pytest.raises(InvalidInput, match="64 KiB"):
        draft_save(assignment=lease(round_with()), draft=draft)


def test_a_draft_after_submitting_is_refused():
    found = lease(round_with())
    submit(found)

    with pytest.raises(Conflict, match="submitted already"):
        draft_save(assignment=found, draft={})


def test_a_paused_round_hands_nothing_out_but_returns_what_a_person_holds():
    made, person = round_with(items=2), annotator()
    mine = lease(made, person)
    round_set_state(round=made, state=Round.State.PAUSED)

    assert assignment_next(round=made, annotator=person, now=timezone.now()).pk == mine.pk
    assert assignment_next(round=made, annotator=annotator(), now=timezone.now()) is None
    assert queue_state(round=made, annotator=person, now=timezone.now()).kind == "paused"


def test_queue_of_somebody_new_is_work():
    made = round_with(items=2)

    state = queue_state(round=made, annotator=annotator(), now=timezone.now())

    assert (state.kind, state.until, state.done_by_me, state.total, state.today) == ("work", None, 0, 2, 0)


def test_queue_is_reserved_until_the_first_lease_of_others_ends():
    made, now = round_with(people_per_item=1, agree_needed=1), timezone.now()
    lease(made, now=now)

    state = queue_state(round=made, annotator=annotator(), now=now)

    assert (state.kind, state.until) == ("reserved", now + timedelta(minutes=20))


def test_queue_is_reserved_until_a_skipped_item_comes_back():
    made, person, now = round_with(), annotator(), timezone.now()
    assignment_release(assignment=lease(made, person, now=now), now=now)

    state = queue_state(round=made, annotator=person, now=now)

    assert (state.kind, state.until) == ("reserved", now + timedelta(minutes=20))


def test_queue_is_work_again_when_the_lease_of_others_is_over():
    made, now = round_with(people_per_item=1, agree_needed=1), timezone.now()
    lease(made, now=now)

    assert queue_state(round=made, annotator=annotator(), now=now + timedelta(minutes=21)).kind == "work"


def test_queue_is_done_when_a_person_has_judged_everything():
    person = annotator()
    made = round_with(people_per_item=3)
    submit(lease(made, person))

    state = queue_state(round=made, annotator=person, now=timezone.now())

    assert (state.kind, state.done_by_me, state.today) == ("done", 1, 1)


def test_queue_is_done_for_everybody_when_all_items_are_closed():
    made = judged_round(items=2)

    assert queue_state(round=made, annotator=annotator(), now=timezone.now()).kind == "done"


def test_queue_of_a_closed_round_says_so():
    made = round_with()
    round_set_state(round=made, state=Round.State.CLOSED)

    assert queue_state(round=made, annotator=annotator(), now=timezone.now()).kind == "closed"
