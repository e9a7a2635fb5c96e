"""Rounds are closed and opened again: what was not judged by enough people goes to an expert and comes back."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Assignment, Round
from annotation.services import assignment_release, assignments_expire, judgement_retract, round_set_state, round_update
from annotation.services.flags import standing_set
from eqstudio.errors import Conflict
from eqstudio.models import Event
from tests.annotation.factories import judged_round, lease, round_with, submit
from tests.annotation.quality import lease_on
from tests.eqstudio.factories import annotator

pytestmark = pytest.mark.django_db


def test_closing_a_round_sends_what_too_few_have_judged_to_an_expert_and_opening_takes_it_back(rita):
    made, person = round_with(items=3, people_per_item=2), annotator()
    judged = lease(made, person)
    submit(judged)
    held = lease(made, person)
    refused = held.item
    for found in (held, lease_on(refused, annotator())):
        assignment_release(assignment=found, now=timezone.now(), skip="unjudgeable", reason="silent")

    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    shut = dict(made.items.values_list("pk", "outcome"))
    round_set_state(round=made, state=Round.State.OPEN, actor=rita)

    assert sorted(shut.values()) == ["", "disputed", "disputed"]
    assert shut[judged.item_id] == "disputed"
    assert dict(made.items.values_list("pk", "outcome"))[judged.item_id] == ""
    assert made.items.get(pk=refused.pk).outcome == "disputed"


def test_closing_and_opening_a_round_asks_as_much_for_many_items_as_for_few(rita, django_assert_num_queries):
    few, many = (_begun(items) for items in (1, 4))

    with CaptureQueriesContext(connection) as closed_few:
        round_set_state(round=few, state=Round.State.CLOSED, actor=rita)
    with CaptureQueriesContext(connection) as opened_few:
        round_set_state(round=few, state=Round.State.OPEN, actor=rita)
    with django_assert_num_queries(len(closed_few)):
        round_set_state(round=many, state=Round.State.CLOSED, actor=rita)
    shut = [(item.outcome, item.dialogue.state) for item in many.items.select_related("dialogue")]
    with django_assert_num_queries(len(opened_few)):
        round_set_state(round=many, state=Round.State.OPEN, actor=rita)

    assert shut == [("disputed", "disputed")] * 4
    assert [(item.outcome, item.dialogue.state) for item in many.items.all()] == [("", "in_review")] * 4
    uids = many.items.values("uid")
    told = Event.objects.filter(entity="rounditem", entity_uid__in=uids, verb__in=["set aside", "reopened"])
    assert sorted(told.values_list("verb", flat=True)) == ["reopened"] * 4 + ["set aside"] * 4


def _begun(items):
    """A round of which each item was judged by one of two people."""
    made, person = round_with(items=items, people_per_item=2), annotator()
    for _item in range(items):
        submit(lease(made, person))
    return made


def test_a_kept_item_of_a_closed_round_goes_to_an_expert_when_one_judgement_is_not_usable(rita):
    made = judged_round(items=1)
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    item = made.items.get()

    standing_set(
        judgement=item.judgements.first(), accepted=True, usable=False, reason="noise", actor=rita, now=timezone.now()
    )

    item.refresh_from_db()
    assert (item.outcome, item.given, item.dialogue.__class__.objects.get().state) == ("disputed", 2, "disputed")


@pytest.mark.parametrize("end", ["submitted", "given back", "expired"])
def test_what_somebody_held_when_the_round_closed_goes_to_an_expert_when_they_are_done(rita, end):
    made, now = round_with(items=1, people_per_item=3), timezone.now()
    held, other = lease(made), lease(made)
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    submit(other)
    assert made.items.get().outcome == ""

    if end == "submitted":
        submit(held)
    elif end == "given back":
        assignment_release(assignment=held, now=now, skip="others")
    else:
        assignments_expire(now=now + timezone.timedelta(days=1))

    item = made.items.get()
    assert (item.outcome, item.given) == ("disputed", 2 if end == "submitted" else 1)
    assert Event.objects.get(verb="set aside").detail == {"reason": "the round was closed"}


@pytest.mark.parametrize("state", ["closed", "paused"])
def test_a_judgement_is_not_taken_back_in_a_round_that_is_not_open(rita, state):
    made = judged_round(items=1)
    said = made.items.get().judgements.last()
    round_set_state(round=made, state=Round.State(state), actor=rita, reason="a break")

    with pytest.raises(Conflict, match="not open"):
        judgement_retract(judgement=said, actor=said.annotator, now=timezone.now())

    assert made.items.get().outcome == "kept"
    assert not Assignment.objects.filter(state="active").exists()


@pytest.mark.parametrize(("people", "stands"), [(4, ("", 4)), (2, ("kept", 2))])
def test_what_comes_back_to_the_queue_asks_for_as_many_people_as_the_round_does_now(rita, people, stands):
    made = round_with(items=1, people_per_item=3, agree_needed=2)
    for _person in range(2):
        submit(lease(made))
    round_set_state(round=made, state=Round.State.CLOSED, actor=rita)
    round_update(round=made, actor=rita, people_per_item=people)

    round_set_state(round=made, state=Round.State.OPEN, actor=rita)

    item = made.items.get()
    assert (item.outcome, item.wanted) == stands
