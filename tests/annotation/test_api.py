"""The API: the same rules as the pages, with a token."""

import json
import re

import pytest
from django.urls import reverse
from rest_framework.authtoken.models import Token

from annotation.models import Judgement
from annotation.selectors import required_clips
from generation.models import Variant
from tests.annotation.factories import heard_whole, judged_round, lease, round_with
from tests.eqstudio.factories import annotator

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(client):
    """Call the API as a person, by token."""

    def send(person, method, name, *args, body=None, query=""):
        headers = {"Authorization": f"Token {Token.objects.get_or_create(user=person)[0].key}"} if person else {}
        return client.generic(
            method,
            reverse(name, args=args) + query,
            json.dumps(body or {}),
            content_type="application/json",
            headers=headers,
        )

    return send


def _judgement(dialogue, **changes):
    return {
        "client_key": "key-1",
        "verdict": "keep",
        "grades": {clip.uid: 3 for clip in required_clips(dialogue=dialogue) if clip.graded},
        "heard": heard_whole(dialogue),
        **changes,
    }


def test_an_annotator_gets_the_next_item_and_judges_it(call, alice):
    made = round_with()

    answer = call(alice, "POST", "api_round_next", made.uid).json()
    dialogue = made.items.get().dialogue
    stored = call(alice, "POST", "api_assignment_submit", answer["item"]["assignment"], body=_judgement(dialogue))

    assert answer["queue"]["kind"] == "work"
    assert stored.json()["counted"] is True
    assert Judgement.objects.get().annotator == alice
    assert call(alice, "POST", "api_round_next", made.uid).json() == {
        "queue": {"kind": "done", "until": None, "done_by_me": 1, "total": 1, "today": 1},
        "item": None,
    }


def test_the_item_tells_nothing_of_the_key(call, alice):
    made = round_with()

    answer = call(alice, "POST", "api_round_next", made.uid)

    clips = [clip for line in answer.json()["item"]["lines"] for clip in line["clips"]]
    assert sorted(clip["letter"] for clip in clips if clip["letter"]) == ["A", "B", "C", "D"]
    text = answer.content.decode()
    for variant in Variant.objects.exclude(label="base"):
        assert f'"{variant.label}"' not in text
        assert variant.tone not in text


def test_a_repeated_submit_stores_one_judgement(call, alice):
    found = lease(round_with(), alice)
    body = _judgement(found.item.dialogue)

    first = call(alice, "POST", "api_assignment_submit", found.uid, body=body)
    second = call(alice, "POST", "api_assignment_submit", found.uid, body=body)

    assert first.json() == second.json()
    assert Judgement.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "status", "where"),
    [
        ({"heard": {}}, 400, "heard"),
        ({"grades": {}}, 400, "grades"),
        ({"verdict": "odd"}, 400, "verdict"),
        ({"client_key": ""}, 400, "client_key"),
        ({"heard": {"x": [[0]]}}, 400, "heard"),
        ({"grades": {"x": 9}}, 400, "grades"),
    ],
)
def test_a_wrong_submit_names_the_field(call, alice, changes, status, where):
    found = lease(round_with(), alice)

    answer = call(alice, "POST", "api_assignment_submit", found.uid, body=_judgement(found.item.dialogue, **changes))

    assert answer.status_code == status
    assert answer.json().get("field") == where or where in answer.json()
    assert Judgement.objects.count() == 0


def test_agreement_is_what_the_command_says(call, rita):
    made = judged_round(items=2)

    groups = call(rita, "GET", "api_round_agreement", made.uid, query="?by=category").json()["groups"]

    assert [group["dimension"] for group in groups] == ["grade", "verdict"]
    assert set(groups[0]["estimates"]["alpha_ordinal"]) == {"value", "lo", "hi", "n", "reason"}


def test_an_unknown_grouping_is_400(call, rita):
    assert call(rita, "GET", "api_round_agreement", judged_round(items=1).uid, query="?by=mood").status_code == 400


def test_the_list_of_rounds_is_for_each_role_its_own(call, alice, rita, otto):
    shown, paused = round_with(), round_with(name="paused")
    paused.state = "paused"
    paused.save(update_fields=["state"])

    names = {
        person.username: sorted(row["name"] for row in call(person, "GET", "api_rounds").json()["results"])
        for person in (alice, rita, otto)
    }

    assert names == {"alice": [shown.name], "rita": sorted([shown.name, "paused"]), "otto": []}


@pytest.mark.parametrize(
    ("method", "name", "person", "status"),
    [
        ("GET", "api_rounds", None, 401),
        ("POST", "api_round_next", None, 401),
        ("POST", "api_round_next", "rita", 403),
        ("POST", "api_round_next", "otto", 404),
        ("GET", "api_round_agreement", None, 401),
        ("GET", "api_round_agreement", "alice", 403),
        ("GET", "api_round_agreement", "otto", 404),
        ("POST", "api_assignment_submit", None, 401),
        ("POST", "api_assignment_submit", "rita", 404),
        ("POST", "api_assignment_submit", "otto", 404),
    ],
)
def test_who_may_not(call, request, method, name, person, status):  # noqa: PLR0917
    made = round_with()
    found = lease(made, annotator())
    who = request.getfixturevalue(person) if person else None
    arguments = {"api_rounds": [], "api_assignment_submit": [found.uid]}.get(name, [made.uid])

    assert call(who, method, name, *arguments).status_code in (status, 403 if status == 401 else status)


@pytest.mark.parametrize("name", ["api_round_next", "api_assignment_submit", "api_round_agreement"])
def test_a_bad_id_is_404(call, alice, rita, name):
    person, method = (rita, "GET") if name == "api_round_agreement" else (alice, "POST")

    assert call(person, method, name, "nonsense").status_code == 404


def test_the_schema_names_every_operation(call, rita):
    answer = call(rita, "GET", "schema", query="?format=json")

    paths = answer.json()["paths"]
    assert {path for path in paths if "/rounds/" in path or "/assignments/" in path} == {
        "/api/v1/rounds/",
        "/api/v1/rounds/{uid}/next/",
        "/api/v1/rounds/{uid}/agreement/",
        "/api/v1/assignments/{uid}/submit/",
    }


def test_the_docs_page_has_no_inline_script_or_style(client, rita):
    client.force_login(rita)

    html = client.get(reverse("docs")).content.decode()

    assert "<style" not in html
    assert re.findall(r"<script(?![^>]* src=)[^>]*>", html) == []
    assert re.findall(r"swagger-ui[\w-]*\.js", html)


def test_schema_and_docs_need_sign_in(client):
    assert client.get(reverse("schema")).status_code in (401, 403)
    assert client.get(reverse("docs")).status_code == 302
