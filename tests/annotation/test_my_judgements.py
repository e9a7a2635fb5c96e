"""My judgements: what is listed, what may be changed, and how one compares with others."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import Judgement
from annotation.selectors.queue import queue_state
from annotation.views.history import history_rows, judgements_of
from generation.models import Dialogue, Variant
from tests.annotation.factories import round_with, submit
from tests.annotation.judging import JSON, change, lease_of, lease_of_other, post

pytestmark = pytest.mark.django_db


@pytest.fixture
def round_(db):
    return round_with(items=2)


@pytest.fixture
def as_alice(client, alice):
    client.force_login(alice)
    return client


def test_history_lists_own_judgements_only(as_alice, alice, round_):
    submit(lease_of(alice, round_), grade=4, comment="mine")
    submit(lease_of_other(round_), comment="not mine")

    html = as_alice.get(reverse("my_judgements")).content.decode()

    assert "mine" in html
    assert "not mine" not in html
    assert "A 4, B 4, C 4, D 4" in html


def test_history_is_constant_in_queries(as_alice, alice):
    counts = []
    for items in (1, 3):
        round_ = round_with(items=items)
        while (lease := lease_of(alice, round_)) is not None:
            submit(lease)
        with CaptureQueriesContext(connection) as captured:
            as_alice.get(reverse("my_judgements"))
        counts.append(len(captured))

    assert counts[0] == counts[1]


def test_history_takes_back_and_opens_the_item_again(as_alice, alice, round_):
    judgement = submit(lease_of(alice, round_))

    answer = as_alice.post(reverse("judgement_take_back", args=[judgement.uid]))

    assert answer["Location"] == reverse("judge", args=[round_.uid])
    assert Judgement.objects.filter(retracted=True).count() == 1


@pytest.mark.parametrize(
    ("scenario", "transcript", "told"),
    [
        ({"title": "The missed train", "context": "A station."}, False, "The missed train"),
        ({}, True, "first words"),
        ({}, False, ""),
    ],
)
def test_history_tells_which_dialogue_it_was(alice, scenario, transcript, told):
    made = round_with(show_transcript=transcript)
    judgement = submit(lease_of(alice, made))
    dialogue = judgement.item.dialogue
    Dialogue.objects.filter(pk=dialogue.pk).update(scenario=scenario)
    Variant.objects.filter(turn=dialogue.turns.first()).update(text="first words")

    (row,) = history_rows(judgements_of(alice), now=timezone.now())

    assert row.about == told


def test_a_long_comment_is_folded(as_alice, alice, round_):
    submit(lease_of(alice, round_), comment="long " * 200)

    html = as_alice.get(reverse("my_judgements")).content.decode()

    assert html.index("<summary>long long") < html.index("long " * 199)


def test_a_judgement_taken_back_is_not_counted_as_done_today(as_alice, alice, round_):
    submit(lease_of(alice, round_))
    second = submit(lease_of(alice, round_))

    as_alice.post(reverse("judgement_take_back", args=[second.uid]))
    lease = lease_of(alice, round_)

    assert queue_state(round=round_, annotator=alice, now=timezone.now(), lease=lease).today == 1
    submit(lease, client_key="once more")
    assert queue_state(round=round_, annotator=alice, now=timezone.now()).today == 2


def test_a_judgement_is_opened_again_and_changed(as_alice, alice, round_):
    judgement = submit(lease_of(alice, round_), grade=2, comment="so so")

    html = as_alice.get(reverse("judgement_edit", args=[judgement.uid])).content.decode()
    answer = change(as_alice, judgement)

    assert "so so" in html
    assert "data-heartbeat" not in html
    assert answer.json()["go"] == reverse("my_judgements")
    assert set(Judgement.objects.latest("pk").grades.values_list("value", flat=True)) == {3}
    assert as_alice.get(reverse("judgement_edit", args=[judgement.uid]), **JSON).status_code == 409


def test_somebody_elses_judgement_cannot_be_opened(as_alice, round_):
    judgement = submit(lease_of_other(round_))

    assert as_alice.get(reverse("judgement_edit", args=[judgement.uid]), **JSON).status_code == 404
    assert change(as_alice, judgement).status_code == 404


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("", 3),
        ("?state=counts", 1),
        ("?state=replaced", 1),
        ("?state=taken_back", 1),
        ("?state=late", 0),
        ("?verdict=reject", 1),
        ("?round=nosuch", 3),
        ("?state=nonsense", 3),
    ],
)
def test_history_is_narrowed_by_what_became_of_it(as_alice, alice, query, rows):
    made = round_with(items=2)
    replaced = submit(lease_of(alice, made))
    change(as_alice, replaced, verdict="reject", grades={}, reasons=["unnatural"])
    back = submit(lease_of(alice, made))
    post(as_alice, "judge_undo", made, {"judgement": back.uid})

    html = as_alice.get(reverse("my_judgements") + query).content.decode()

    assert html.count('class="nowrap"><time') == rows


def test_history_shows_how_others_judged_once_the_item_is_closed(as_alice, alice):
    made = round_with(people_per_item=2, agree_needed=2, show_feedback=True, undo_seconds=0)
    submit(lease_of(alice, made), grade=4)
    before = as_alice.get(reverse("my_judgements")).content.decode()
    submit(lease_of_other(made), grade=1)
    after = as_alice.get(reverse("my_judgements")).content.decode()

    assert "not shown yet" in before
    assert "keep 1, reject 0" in after
    assert "A 1, B 1, C 1, D 1" in after
    assert "Change</a>" in before
    assert "Change</a>" not in after


def test_history_is_for_annotators(client, otto, rita):
    for person in (otto, rita):
        client.force_login(person)
        assert client.get(reverse("my_judgements"), **JSON).status_code == 403
