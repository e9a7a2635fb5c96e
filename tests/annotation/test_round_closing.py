"""Rounds are closed and opened again: what was not judged by enough people goes to an expert and comes back."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.models import Round
from annotation.services import assignment_release, round_set_state
from eqstudio.models import Event
from tests.annotation.factories import lease, round_with, submit
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
