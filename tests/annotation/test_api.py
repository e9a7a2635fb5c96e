"""The API: the same rules as the pages, with a token."""

import json
import re

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.authtoken.models import Token
from rest_framework.pagination import CursorPagination

from annotation.models import Judgement
from annotation.selectors import required_clips
from generation.models import Variant
from tests.annotation.factories import heard_whole, judged_round, lease, round_with, submit
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


@pytest.mark.parametrize("shown", [True, False])
def test_the_words_are_told_only_where_the_round_shows_them(call, alice, shown):
    made = round_with(show_transcript=shown)

    item = call(alice, "POST", "api_round_next", made.uid).json()["item"]

    assert {bool(clip["text"]) for line in item["lines"] for clip in line["clips"]} == {shown}


def test_an_annotator_gets_the_next_item_and_judges_it(call, alice):
    made = round_with()

    answer = call(alice, "POST", "api_round_next", made.uid).json()
    dialogue = made.items.get().dialogue
    stored = call(alice, "POST", "api_assignment_submit", answer["item"]["assignment"], body=_judgement(dialogue))

    assert answer["queue"]["kind"] == "work"
    assert stored.json()["counted"] is True
    assert Judgement.objects.get().annotator == alice
    assert call(alice, "POST", "api_round_next", made.uid).json() == {
        "queue": {
            "kind": "done",
            "until": None,
            "reason": "",
            "evidence": {},
            "done_by_me": 1,
            "total": 1,
            "today": 1,
        },
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
        ("GET", "api_round", None, 401),
        ("GET", "api_round", "otto", 404),
        ("POST", "api_round_next", None, 401),
        ("POST", "api_round_next", "rita", 403),
        ("POST", "api_round_next", "otto", 404),
        *(
            ("GET", f"api_round_{name}", person, status)
            for name in ("agreement", "judgements", "items", "participations")
            for person, status in ((None, 401), ("alice", 403), ("otto", 404))
        ),
        *(
            ("POST", f"api_assignment_{name}", person, status)
            for name in ("submit", "draft", "heartbeat", "skip")
            for person, status in ((None, 401), ("alice", 404), ("rita", 404), ("otto", 404))
        ),
        ("GET", "api_judgements", None, 401),
        ("GET", "api_judgements", "rita", 403),
        ("GET", "api_judgements", "otto", 403),
        ("POST", "api_judgement_undo", None, 401),
        ("POST", "api_judgement_undo", "alice", 404),
        ("POST", "api_judgement_undo", "rita", 404),
    ],
)
def test_who_may_not(call, request, method, name, person, status):  # noqa: PLR0917
    made = round_with(items=2)
    done = annotator()
    judgement = submit(lease(made, done))
    found = lease(made, done)
    who = request.getfixturevalue(person) if person else None
    kind = name.split("_")[1]
    arguments = {"rounds": [], "judgements": [], "judgement": [judgement.uid], "assignment": [found.uid]}

    assert call(who, method, name, *arguments.get(kind, [made.uid])).status_code in (
        status,
        403 if status == 401 else status,
    )


@pytest.mark.parametrize("name", ["api_round_next", "api_assignment_submit", "api_round_agreement"])
def test_a_bad_id_is_404(call, alice, rita, name):
    person, method = (rita, "GET") if name == "api_round_agreement" else (alice, "POST")

    assert call(person, method, name, "nonsense").status_code == 404


def test_the_schema_names_every_operation(call, rita):
    answer = call(rita, "GET", "schema", query="?format=json")

    paths = answer.json()["paths"]
    assert {path.removeprefix("/api/v1") for path in paths if path.startswith("/api/v1")} == {
        "/rounds/",
        "/rounds/{uid}/",
        "/rounds/{uid}/next/",
        "/rounds/{uid}/agreement/",
        "/rounds/{uid}/judgements/",
        "/rounds/{uid}/items/",
        "/rounds/{uid}/participations/",
        "/assignments/{uid}/submit/",
        "/assignments/{uid}/draft/",
        "/assignments/{uid}/heartbeat/",
        "/assignments/{uid}/skip/",
        "/judgements/",
        "/judgements/{uid}/undo/",
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


def test_a_round_tells_its_rules(call, alice):
    made = round_with(guidelines="Listen twice.", questions={"confidence": True})

    told = call(alice, "GET", "api_round", made.uid).json()

    assert (told["guidelines"], told["questions"], told["items_total"]) == ("Listen twice.", {"confidence": True}, 1)
    assert {"query", "quality", "seed"}.isdisjoint(told)


def test_a_lease_is_kept_drafted_skipped_and_comes_back(call, alice):
    made = round_with()
    found = lease(made, alice)

    beat = call(alice, "POST", "api_assignment_heartbeat", found.uid)
    draft = call(alice, "POST", "api_assignment_draft", found.uid, body={"draft": {"comment": "so far"}})
    skipped = call(alice, "POST", "api_assignment_skip", found.uid, body={"skip": "others", "reason": "know her"})

    assert beat.json()["state"] == "active"
    assert draft.status_code == 204
    assert skipped.json()["state"] == "released"
    found.refresh_from_db()
    assert (found.skip, found.reason, found.draft) == ("others", "know her", {"comment": "so far"})
    assert call(alice, "POST", "api_assignment_heartbeat", found.uid).status_code == 409


def test_not_judgeable_needs_its_reason(call, alice):
    found = lease(round_with(), alice)

    answer = call(alice, "POST", "api_assignment_skip", found.uid, body={"skip": "unjudgeable"})

    assert (answer.status_code, answer.json()["field"]) == (400, "reason")


def test_what_a_person_said_is_theirs_to_read_and_to_take_back(call, alice):
    made = round_with(items=2, questions={"confidence": True})
    mine = submit(lease(made, alice), verdict="reject", answers={"confidence": 3})
    submit(lease(made), answers={"confidence": 1})

    (told,) = call(alice, "GET", "api_judgements").json()["results"]
    undone = call(alice, "POST", "api_judgement_undo", mine.uid)
    again = call(alice, "POST", "api_judgement_undo", mine.uid)

    assert (told["uid"], told["round"], told["answers"]) == (mine.uid, made.uid, {"confidence": 3})
    assert sorted(told["grades"].values()) == [3, 3, 3, 3]
    assert {"item", "dialogue", "kind"}.isdisjoint(told)
    assert (undone.json()["state"], again.status_code) == ("active", 409)


def test_researchers_read_what_counts_under_pseudonyms(call, rita):
    made, other = judged_round(items=2), judged_round(items=1)

    told = call(rita, "GET", "api_round_judgements", made.uid).json()["results"]
    people = {row["person"] for row in told}
    places = call(rita, "GET", "api_round_participations", made.uid).json()["results"]

    assert (len(told), len(people)) == (6, 3)
    assert people == {row["person"] for row in places}
    names = [person.username for person in type(rita).objects.all()] + [
        person.uid for person in type(rita).objects.all()
    ]
    assert not any(f'"{name}"' in json.dumps(told) for name in names)
    elsewhere = call(rita, "GET", "api_round_judgements", other.uid).json()["results"]
    assert people.isdisjoint(row["person"] for row in elsewhere)


def test_lists_go_on_by_cursor(call, rita, monkeypatch):
    made = round_with(items=3)
    monkeypatch.setattr(CursorPagination, "page_size", 2)
    first = call(rita, "GET", "api_round_items", made.uid).json()
    rest = call(rita, "GET", "api_round_items", made.uid, query="?" + first["next"].partition("?")[2]).json()

    found = [row["uid"] for row in first["results"] + rest["results"]]
    assert found == list(made.items.values_list("uid", flat=True))
    assert rest["next"] is None
    assert call(rita, "GET", "api_round_items", made.uid, query="?cursor=cD1hYmM=").status_code == 400
    for spoilt in ("cj0xJnA9JTAw", "cD1hYmM=", "cD0yMDI2LTk5LTk5VDAwOjAw"):  # NUL, "abc", the 99th of the 99th month
        assert call(rita, "GET", "api_rounds", query=f"?cursor={spoilt}").status_code == 400


@pytest.mark.parametrize("name", ["api_round_next", "api_assignment_submit"])
@pytest.mark.parametrize("accept", ["application/json", "text/html"])
def test_a_body_that_is_nested_too_deeply_is_refused(alice, name, accept):
    browser = Client(enforce_csrf_checks=True)  # which reads the body even where the view does not
    browser.force_login(alice)
    browser.cookies["csrftoken"] = "a" * 32
    headers = {"accept": accept} | ({"X-CSRFToken": "a" * 32} if name == "api_assignment_submit" else {})
    held = lease(round_with(), alice)

    address = reverse(name, args=[held.item.round.uid if name == "api_round_next" else held.uid])
    response = browser.post(address, "[" * 100_000, content_type="application/json", headers=headers)

    assert response.status_code == 400
