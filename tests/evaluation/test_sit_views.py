"""The exam page: instructions first, one question at a time, heard before answered, stored once, the key never told."""

import json
import re

import pytest
from django.urls import reverse

from evaluation.models import Response, ScoreRecord, Sitting, TrialRecord
from evaluation.services import sitting_cancel, sitting_open, trial_next
from generation.models import Clip, Variant
from tests.evaluation.factories import emosbench_study, speecheq_study

pytestmark = pytest.mark.django_db
JSON = {"HTTP_ACCEPT": "application/json"}


@pytest.fixture
def study(db):
    return speecheq_study(items=2)


@pytest.fixture
def sitting(study, alice):
    return sitting_open(study=study, user=alice)


@pytest.fixture
def as_alice(client, alice):
    client.force_login(alice)
    return client


def begin(client, sitting):
    return client.post(reverse("sit_begin", args=[sitting.uid]))


def page(client, sitting):
    return client.get(reverse("sit", args=[sitting.uid])).content.decode()


def shown_variants(record):
    parts = [*record.shown["context"], *record.shown["options"]]
    return [part["variant"] for part in parts if part["variant"]]


def answer_of(record, answer="A", **changes):
    return {
        "trial": record.uid,
        "client_key": "key-1",
        "answer": answer,
        "heard": {uid: [[0.0, 10.0]] for uid in shown_variants(record)},
        "paradata": {"shown_at": "2026-01-01T00:00:00Z", "submitted_at": "2026-01-01T00:01:00Z", "changes": 2},
        **changes,
    }


def post(client, sitting, body):
    address = reverse("sit_answer", args=[sitting.uid])
    return client.post(address, json.dumps(body), content_type="application/json", **JSON)


def test_start_opens_the_sitting_once(as_alice, study):
    addresses = [as_alice.post(reverse("sit_start", args=[study.uid]))["Location"] for _ in range(2)]

    assert addresses == [reverse("sit", args=[Sitting.objects.get().uid])] * 2


def test_start_wants_post(as_alice, study):
    assert as_alice.get(reverse("sit_start", args=[study.uid])).status_code == 405


def test_instructions_come_first(as_alice, sitting):
    html = page(as_alice, sitting)

    assert "Instructions" in html
    assert 'id="sit-form"' not in html
    assert TrialRecord.objects.count() == 0


def test_question_comes_after_the_instructions(as_alice, sitting):
    begin(as_alice, sitting)

    html = page(as_alice, sitting)

    record = TrialRecord.objects.get()
    assert re.findall(r'class="sit-option" data-letter="(\w)"', html) == ["A", "B"]
    assert record.uid in html
    assert "1 of 2" in html


def test_question_tells_nothing_of_the_key(as_alice, sitting):
    begin(as_alice, sitting)

    html = page(as_alice, sitting)

    for variant in Variant.objects.filter(turn__role="critical"):
        assert variant.tone not in html
    assert not re.search(r"\b(high|low|intended|gold|correct)\b", re.sub(r"data-peaks=\"[^\"]*\"", "", html_main(html)))
    for clip in Clip.objects.all():
        assert clip.sha256 not in html
        assert clip.uid not in html


def html_main(html):
    return html[html.index('<div id="sit-question">') :]


def test_answer_is_stored_raw_and_the_next_question_returned(as_alice, sitting):
    record = trial_next(sitting=sitting)

    answer = post(as_alice, sitting, answer_of(record))

    response = Response.objects.get()
    assert response.raw == '{"answer": "A"}'
    assert response.paradata["changes"] == 2
    assert response.paradata["device"] == "computer"
    assert ScoreRecord.objects.get().outcome == "answered"
    assert answer.json()["sitting"] == sitting.uid
    assert record.uid not in answer.json()["html"]
    assert trial_next(sitting=sitting).uid in answer.json()["html"]


def test_answer_tells_nothing_of_the_score(as_alice, sitting):
    answer = post(as_alice, sitting, answer_of(trial_next(sitting=sitting))).json()

    assert set(answer) == {"sitting", "html"}


def test_double_answer_is_stored_once(as_alice, sitting):
    record = trial_next(sitting=sitting)

    answers = [post(as_alice, sitting, answer_of(record, answer=letter)) for letter in ("A", "B")]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [response.raw for response in Response.objects.all()] == ['{"answer": "A"}']


def test_unheard_clips_are_refused_by_the_server(as_alice, sitting):
    record = trial_next(sitting=sitting)

    answer = post(as_alice, sitting, answer_of(record, heard={}))

    assert answer.status_code == 400
    assert answer.json()["field"] == "heard"
    assert Response.objects.count() == 0


def test_clip_that_cannot_be_played_is_an_outcome_of_its_own(as_alice, sitting):
    record = trial_next(sitting=sitting)
    body = answer_of(record, answer=None, heard={}, failure="not_heard", error="A: the file is not readable here")

    assert post(as_alice, sitting, body).status_code == 200
    assert ScoreRecord.objects.get().outcome == "not_heard"
    assert Response.objects.get().error == "A: the file is not readable here"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"answer": "C"}, "answer"),
        ({"answer": 1}, "answer"),
        ({"answer": None}, "answer"),
        ({"failure": "refused"}, "failure"),
        ({"client_key": ""}, "client_key"),
        ({"paradata": {}}, "paradata.shown_at"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_wrong_field_is_named(as_alice, sitting, changes, field):
    answer = post(as_alice, sitting, answer_of(trial_next(sitting=sitting), **changes))

    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert Response.objects.count() == 0


def test_grade_is_a_number_of_the_scale(as_alice, alice):
    sitting = sitting_open(study=emosbench_study(items=1), user=alice)
    record = trial_next(sitting=sitting)
    assert record.shown["kind"] == "grade"

    refused = [post(as_alice, sitting, answer_of(record, answer=answer)).status_code for answer in (0, 5, "3")]
    stored = post(as_alice, sitting, answer_of(record, answer=3))

    assert refused == [400, 400, 400]
    assert stored.status_code == 200
    assert Response.objects.get().raw == '{"answer": 3}'


def test_last_answer_finishes_the_sitting(as_alice, sitting):
    answer = None
    while (record := trial_next(sitting=sitting)) is not None:
        answer = post(as_alice, sitting, answer_of(record))

    assert 'data-state="finished"' in answer.json()["html"]
    assert 'data-state="finished"' in page(as_alice, sitting)


def test_sitting_goes_on_where_it_was_without_instructions(as_alice, sitting):
    post(as_alice, sitting, answer_of(trial_next(sitting=sitting)))
    as_alice.session.flush()
    as_alice.force_login(sitting.respondent.user)

    assert trial_next(sitting=sitting).uid in page(as_alice, sitting)


def test_cancelled_sitting_says_so(as_alice, sitting):
    sitting_cancel(sitting=sitting)

    assert 'data-state="cancelled"' in page(as_alice, sitting)


@pytest.mark.parametrize("person", ["rita", "ada", "otto"])
def test_somebody_elses_sitting_does_not_exist(client, request, sitting, person):
    client.force_login(request.getfixturevalue(person))
    record = trial_next(sitting=sitting)

    assert client.get(reverse("sit", args=[sitting.uid]), **JSON).status_code == 404
    assert begin(client, sitting).status_code == 404
    assert post(client, sitting, answer_of(record)).status_code == 404


def test_question_of_another_sitting_is_not_found_here(as_alice, alice, sitting):
    other = sitting_open(study=speecheq_study(items=1), user=alice)

    assert post(as_alice, sitting, answer_of(trial_next(sitting=other))).status_code == 404


def test_start_by_role(client, study, otto, rita):
    client.force_login(otto)
    assert client.post(reverse("sit_start", args=[study.uid])).status_code == 404
    client.force_login(rita)
    assert client.post(reverse("sit_start", args=[study.uid])).status_code == 302


def test_anonymous_is_sent_to_sign_in(client, sitting):
    answer = client.get(reverse("sit", args=[sitting.uid]))

    assert answer["Location"].startswith(reverse("account_login"))
