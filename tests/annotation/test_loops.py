"""What one judgement costs the database, and that the short way of counting an item says what the long one does."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from rest_framework.authtoken.models import Token

from annotation.models import Assignment
from annotation.selectors import live_judgements
from annotation.selectors.judgements import Tally, item_tally
from annotation.services import judgement_retract, judgement_revise, round_create, round_top_up
from annotation.services.flags import standing_set
from eqstudio.models import Event
from tests.annotation.factories import heard_whole, lease, round_with, submit
from tests.annotation.judging import judgement_of, lease_of, post
from tests.eqstudio.factories import annotator, researcher
from tests.generation.factories import CorpusFactory, speecheq_dialogue

pytestmark = pytest.mark.django_db


def _unusable(judgement):
    standing_set(
        judgement=judgement, accepted=True, usable=False, reason="noise", actor=researcher(), now=timezone.now()
    )


def _usable_again(judgement):
    _unusable(judgement)
    standing_set(
        judgement=judgement, accepted=True, usable=True, reason="a mistake", actor=researcher(), now=timezone.now()
    )


def _revised(judgement):
    judgement_revise(
        judgement=judgement,
        client_key="another",
        verdict="reject",
        grades={},
        reasons=["other"],
        comment="no",
        heard=heard_whole(judgement.item.dialogue),
        actor=judgement.annotator,
        now=timezone.now(),
    )


def _retracted(judgement):
    judgement_retract(judgement=judgement, actor=judgement.annotator, now=timezone.now())


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("then", "found"),
    [
        (lambda _judgement: None, Tally(["keep", "reject"], 2, 3)),
        (_revised, Tally(["reject", "reject"], 2, 3)),
        (_retracted, Tally(["reject"], 1, 3)),
        (_unusable, Tally(["reject"], 2, 3)),
        (_usable_again, Tally(["keep", "reject"], 2, 3)),
    ],
)
def test_an_item_is_tallied_as_its_live_judgements_are(then, found):
    made = round_with(items=1, people_per_item=4)
    first = submit(lease(made))
    submit(lease(made), verdict="reject")
    lease(made)

    then(first)

    item = made.items.get()
    verdicts = live_judgements(item=item).order_by("pk").values_list("verdict", flat=True)
    assert (sorted(item_tally(item=item).votes), item_tally(item=item)[1:]) == (sorted(found.votes), found[1:])
    assert item_tally(item=item).votes == list(verdicts)


def test_a_late_answer_and_an_ended_lease_are_not_tallied():
    made = round_with(items=1, people_per_item=4)
    found = lease(made)
    Assignment.objects.filter(pk=found.pk).update(state="late")

    assert item_tally(item=found.item) == Tally([], 0, 0)


def test_a_loop_on_the_page_takes_few_queries(client, django_assert_max_num_queries):
    made, person = round_with(items=4, people_per_item=4), annotator()
    client.force_login(person)
    first = lease_of(person, made)
    Assignment.objects.update(created=timezone.now() - timedelta(hours=1))

    with django_assert_max_num_queries(34):
        answer = post(client, "judge_submit", made, judgement_of(first))

    assert answer.status_code == 200
    assert lease_of(person, made).uid in answer.json()["html"]


def test_a_loop_of_the_api_takes_few_queries(client, django_assert_max_num_queries):
    made, person = round_with(items=4, people_per_item=4), annotator()
    first = lease_of(person, made)
    headers = {"Authorization": f"Token {Token.objects.create(user=person).key}"}
    body = {name: value for name, value in judgement_of(first).items() if name != "assignment"}

    def call(name, uid, sent):
        return client.post(
            reverse(name, args=[uid]), json.dumps(sent), content_type="application/json", headers=headers
        )

    with django_assert_max_num_queries(34):
        stored = call("api_assignment_submit", first.uid, body)
        following = call("api_round_next", made.uid, {})

    assert (stored.status_code, following.status_code) == (200, 200)
    assert following.json()["item"]["assignment"] != first.uid


def test_filling_a_round_takes_the_same_queries_for_three_dialogues_and_for_nine(django_assert_num_queries):
    few, many = CorpusFactory(), CorpusFactory()
    for corpus, count in ((few, 3), (many, 9)):
        for _ in range(count):
            speecheq_dialogue(corpus=corpus, state="ready")
    rounds = [round_create(name=f"of-{corpus.pk}", corpus=corpus, benchmark="speecheq") for corpus in (few, many)]

    with CaptureQueriesContext(connection) as counted:
        assert round_top_up(round=rounds[0]) == 3
    with django_assert_num_queries(len(counted)):
        assert round_top_up(round=rounds[1]) == 9

    moved = Event.objects.filter(entity="dialogue", verb="moved", detail__reason=f"round {rounds[1].name}")
    assert moved.count() == 9
    assert set(rounds[1].items.values_list("dialogue__state", flat=True)) == {"in_review"}
