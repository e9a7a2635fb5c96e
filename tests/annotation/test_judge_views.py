"""The judging page and its JSON answers: who may, what is refused, what is stored once, what is never told."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, AudioProblem, GoldAnswer, GuidelineExample, Judgement, Round
from annotation.services import round_set_state
from generation.models import Clip, Variant
from tests.annotation.factories import heard_whole, round_with, submit
from tests.annotation.judging import JSON, judgement_of, lease_of, lease_of_other, post
from tests.generation.factories import emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def round_(db):
    return round_with(items=2)


@pytest.fixture
def as_alice(client, alice):
    client.force_login(alice)
    return client


def test_page_shows_the_item_with_letters_and_the_four_anchors(as_alice, alice, round_):
    answer = as_alice.get(reverse("judge", args=[round_.uid]))

    html = answer.content.decode()
    assert answer.status_code == 200
    assert re.findall(r'data-letter="(\w)"', html) == ["A", "B", "C", "D"]
    assert re.findall(r'<span class="judge-letter">(\d)</span>', html) == ["1", "2", "3", "4"]
    assert "item 1 of 2" in html
    assert Assignment.objects.get().annotator == alice


def test_page_shows_variants_in_the_order_of_the_lease(as_alice, alice, round_):
    lease = lease_of(alice, round_)

    html = as_alice.get(reverse("judge", args=[round_.uid])).content.decode()

    assert re.findall(r'data-uid="(\w+)" data-letter', html) == lease.shown["4"] + lease.shown["6"]


def test_page_tells_nothing_of_the_key(as_alice, alice):
    round_ = round_with(make=lambda **fields: emosbench_dialogue(category="bap", **fields), benchmark="emosbench")
    renamed = Variant.objects.filter(turn__role="response", intended_grade=1)
    assert renamed.update(rationale="secret rationale", label="secretlabel") == 1

    html = as_alice.get(reverse("judge", args=[round_.uid])).content.decode()

    assert round_.items.get().dialogue.uid not in html
    for variant in Variant.objects.filter(turn__role="response"):
        assert not variant.tone or variant.tone not in html
    assert "secretlabel" not in html
    assert "secret rationale" not in html
    assert "intended" not in html
    for clip in Clip.objects.all():
        assert clip.sha256 not in html
        assert clip.uid not in html


def test_anonymous_is_sent_to_sign_in(client, round_):
    answer = client.get(reverse("judge", args=[round_.uid]))

    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("account_login"))


@pytest.mark.parametrize(("person", "status"), [("alice", 200), ("rita", 403), ("ada", 403), ("otto", 404)])
def test_page_by_role(client, request, round_, person, status):
    client.force_login(request.getfixturevalue(person))

    assert client.get(reverse("judge", args=[round_.uid]), **JSON).status_code == status


@pytest.mark.parametrize("name", ["judge", "judge_next"])
def test_unknown_round_is_not_found(as_alice, name):
    assert as_alice.get(reverse(name, args=["nosuchround"]), **JSON).status_code == 404


@pytest.mark.parametrize("name", ["judge_submit", "judge_draft", "judge_heartbeat", "judge_skip", "judge_undo"])
def test_actions_are_refused_to_other_roles_and_to_get(client, rita, round_, name):
    client.force_login(rita)

    assert post(client, name, round_, {}).status_code == 403
    assert client.get(reverse(name, args=[round_.uid])).status_code == 405


def test_somebody_elses_lease_does_not_exist(as_alice, round_):
    lease = lease_of(submit(lease_of_other(round_)).annotator, round_)

    answer = post(as_alice, "judge_submit", round_, judgement_of(lease))

    assert answer.status_code == 404
    assert Judgement.objects.filter(assignment=lease).count() == 0


def test_lease_of_another_round_is_not_found_here(as_alice, alice, round_):
    other = round_with()

    answer = post(as_alice, "judge_submit", other, judgement_of(lease_of(alice, round_)))

    assert answer.status_code == 404


def test_submit_stores_and_answers_with_the_next_item(as_alice, alice, round_):
    lease = lease_of(alice, round_)

    answer = post(as_alice, "judge_submit", round_, judgement_of(lease)).json()

    judgement = Judgement.objects.get()
    assert answer["judgement"] == judgement.uid
    assert answer["late"] is False
    assert judgement.grades.count() == 4
    assert judgement.active_ms == 4000
    assert "item 2 of 2" in answer["html"]
    assert lease_of(alice, round_).uid in answer["html"]


def test_double_submit_stores_one(as_alice, alice, round_):
    body = judgement_of(lease_of(alice, round_))

    answers = [post(as_alice, "judge_submit", round_, body) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json()["judgement"] == answers[1].json()["judgement"]
    assert Judgement.objects.count() == 1


def test_unheard_clips_are_refused_by_the_server(as_alice, alice, round_):
    lease = lease_of(alice, round_)
    heard = {uid: [[0.0, 0.01]] for uid in heard_whole(lease.item.dialogue)}

    answer = post(as_alice, "judge_submit", round_, judgement_of(lease, heard=heard))

    assert answer.status_code == 400
    assert answer.json()["field"] == "heard"
    assert Judgement.objects.count() == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"verdict": "perhaps"}, "verdict"),
        ({"verdict": "reject"}, "reasons"),
        ({"grades": {}}, "grades"),
        ({"grades": {"x": "3"}}, "grades.x"),
        ({"client_key": ""}, "client_key"),
        ({"active_ms": -1}, "active_ms"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_wrong_field_is_named(as_alice, alice, round_, changes, field):
    answer = post(as_alice, "judge_submit", round_, judgement_of(lease_of(alice, round_), **changes))

    assert answer.status_code == 400
    assert answer.json()["field"] == field


def test_what_is_no_json_is_refused(as_alice, round_):
    answer = as_alice.post(reverse("judge_submit", args=[round_.uid]), "{", content_type="application/json", **JSON)

    assert answer.status_code == 400


def test_draft_comes_back_with_the_page(as_alice, alice, round_):
    lease = lease_of(alice, round_)

    saved = post(as_alice, "judge_draft", round_, {"assignment": lease.uid, "draft": {"comment": "half a thought"}})

    assert saved.status_code == 200
    assert "half a thought" in as_alice.get(reverse("judge", args=[round_.uid])).content.decode()


def test_heartbeat_prolongs_the_lease(as_alice, alice, round_):
    lease = lease_of(alice, round_)
    soon = timezone.now() + timedelta(minutes=1)
    Assignment.objects.update(lease_until=soon)

    answer = post(as_alice, "judge_heartbeat", round_, {"assignment": lease.uid})

    assert answer.status_code == 200
    assert Assignment.objects.get().lease_until > soon


def test_skip_gives_the_item_back_with_its_reason(as_alice, alice, round_):
    lease = lease_of(alice, round_)

    answer = post(as_alice, "judge_skip", round_, {"assignment": lease.uid, "reason": "audio problem: B"})

    lease.refresh_from_db()
    assert (lease.state, lease.reason) == ("released", "audio problem: B")
    assert lease.uid not in answer.json()["html"]


@pytest.mark.parametrize("where", ["me", "others"])
def test_skip_says_where_the_item_goes(as_alice, alice, round_, where):
    lease = lease_of(alice, round_)

    assert post(as_alice, "judge_skip", round_, {"assignment": lease.uid, "skip": where}).status_code == 200
    lease.refresh_from_db()
    assert (lease.state, lease.skip) == ("released", where)


def test_what_cannot_be_judged_needs_a_reason(as_alice, alice, round_):
    lease = lease_of(alice, round_)

    answer = post(as_alice, "judge_skip", round_, {"assignment": lease.uid, "skip": "unjudgeable", "reason": " "})

    assert (answer.status_code, answer.json()["field"]) == (400, "reason")
    assert Assignment.objects.get().state == "active"


@pytest.mark.parametrize(("give_back", "state"), [(False, "active"), (True, "released")])
def test_a_sound_is_reported_with_or_without_giving_the_item_back(as_alice, alice, round_, give_back, state):
    lease = lease_of(alice, round_)
    body = {"assignment": lease.uid, "variant": lease.shown["4"][0], "problem": "cut_off", "give_back": give_back}

    answer = post(as_alice, "judge_problem", round_, body)

    assert answer.status_code == 200
    assert ("html" in answer.json()) is give_back
    lease.refresh_from_db()
    assert lease.state == state
    assert AudioProblem.objects.get().problem == "cut_off"


def test_leaving_shortens_the_reservation_and_looking_ahead_makes_none(as_alice, alice, round_):
    lease = lease_of(alice, round_)

    ahead = post(as_alice, "judge_ahead", round_, {"assignment": lease.uid}).json()["clips"]
    left = post(as_alice, "judge_leave", round_, {"assignment": lease.uid}).json()

    assert len(ahead) == 8
    assert left == {"left": True}
    assert Assignment.objects.count() == 1
    assert as_alice.get(ahead[0]["url"]).status_code == 200


def test_questions_of_the_round_are_asked_and_the_rubric_is_in_its_language(as_alice):
    made = round_with(questions={"confidence": True, "emotion": True}, rubric_language="zh")

    html = as_alice.get(reverse("judge", args=[made.uid])).content.decode()

    assert "How sure are you?" in html
    assert 'name="answer-emotion" value="sad"' in html
    assert 'name="answer-naturalness"' not in html
    assert '<div class="stack tight" lang="zh">' in html
    assert re.search(r'<dl class="judge-anchors" lang="zh">.*[\u4e00-\u9fff]', html, re.DOTALL)


def test_worked_examples_stand_beside_the_grade_they_show(as_alice, alice):
    made, other = round_with(), speecheq_dialogue()
    variant = Variant.objects.filter(turn__dialogue=other, turn__position=4).first()
    example = GuidelineExample.objects.create(round=made, variant=variant, grade=3, why="It waits half a breath.")

    html = as_alice.get(reverse("judge", args=[made.uid])).content.decode()

    assert f'data-example="{example.uid}"' in html
    assert "It waits half a breath." in html
    assert variant.label not in re.sub(r"/media/[\w-]+", "", html[html.index("judge-examples") :])


def test_training_tells_what_was_expected_and_nothing_else_does(as_alice, alice, round_):
    lease = lease_of(alice, round_)
    Assignment.objects.update(kind="training")
    GoldAnswer.objects.create(item=lease.item, verdict="reject", grades={lease.shown["4"][0]: 1}, explanation="Hear it")
    first = post(as_alice, "judge_submit", round_, judgement_of(lease)).json()
    second = post(as_alice, "judge_submit", round_, judgement_of(lease_of(alice, round_), client_key="two")).json()

    assert "you gave 3, expected 1" in first["feedback"]
    assert "you said keep, expected was reject" in first["feedback"]
    assert "feedback" not in second


def test_undo_brings_the_item_back_as_it_was(as_alice, alice, round_):
    lease = lease_of(alice, round_)
    judgement = submit(lease, grade=2)

    answer = post(as_alice, "judge_undo", round_, {"judgement": judgement.uid})

    assert answer.status_code == 200
    assert lease.uid in answer.json()["html"]
    lease.refresh_from_db()
    assert set(lease.draft["grades"].values()) == {2}


def test_undo_after_the_window_is_refused(as_alice, alice):
    round_ = round_with(undo_seconds=0)
    judgement = submit(lease_of(alice, round_))

    answer = post(as_alice, "judge_undo", round_, {"judgement": judgement.uid})

    assert answer.status_code == 409
    assert "over" in answer.json()["error"]


def test_empty_queue_says_done(as_alice, alice):
    round_ = round_with(items=1)
    submit(lease_of(alice, round_))

    assert 'data-kind="done"' in as_alice.get(reverse("judge", args=[round_.uid])).content.decode()


def test_queue_reserved_by_others_says_until_when(as_alice):
    round_ = round_with(items=1, people_per_item=1, agree_needed=1)
    until = lease_of_other(round_).lease_until

    html = as_alice.get(reverse("judge", args=[round_.uid])).content.decode()

    assert 'data-kind="reserved"' in html
    assert until.strftime("%H:%M") in html


@pytest.mark.parametrize("state", [Round.State.PAUSED, Round.State.CLOSED])
def test_round_that_is_not_open_says_so(as_alice, round_, state):
    round_set_state(round=round_, state=state)

    assert f'data-kind="{state.value}"' in as_alice.get(reverse("judge", args=[round_.uid])).content.decode()


def test_comment_moves_to_m_where_c_is_a_letter(as_alice):
    four = round_with(items=1)

    assert 'data-comment-key="m"' in as_alice.get(reverse("judge", args=[four.uid])).content.decode()
