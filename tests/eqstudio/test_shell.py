"""The frame of every page: rail, language, errors, headers."""

import json

import pytest
from django.contrib.messages.storage.fallback import FallbackStorage
from django.test import Client
from django.urls import reverse

from eqstudio.context import RAIL, rail_for
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.home import Job, running_jobs
from eqstudio.middleware import StudioErrorMiddleware, api_exception_handler

pytestmark = pytest.mark.django_db


def names(user):
    return [str(entry["label"]) for group in rail_for(user, "/") for entry in group["entries"]]


def test_the_rail_shows_what_a_role_may_do(alice, rita, ada, otto):
    curation = ["Home", "Corpora", "Batches", "Providers", "Rounds", "Splits", "Studies", "Runs"]

    assert names(alice) == ["Home", "My judgements", "My work"]
    assert names(rita) == curation
    assert names(ada) == [*curation, "People", "Events", "Webhooks", "Health"]
    assert names(otto) == []


def test_no_two_entries_of_the_rail_share_a_letter():
    letters = [entry.letter for _label, entries in RAIL for entry in entries]

    assert len(letters) == len(set(letters))


def test_the_rail_marks_where_one_is(ada):
    marked = {entry["href"]: entry["current"] for group in rail_for(ada, "/people/new/") for entry in group["entries"]}

    assert marked["/people/"] == "true"
    assert [href for href, current in marked.items() if current] == ["/people/"]


def test_anonymous_is_led_to_sign_in(client):
    response = client.get("/people/")

    assert response.status_code == 302
    assert response["Location"] == "/accounts/login/?next=/people/"


def test_the_sign_in_page_tells_the_first_person_how_to_begin(client):
    assert "manage.py studio --demo" in client.get(reverse("account_login")).content.decode()


def test_the_sign_in_page_is_plain_once_there_are_people(client, ada):
    assert "createsuperuser" not in client.get(reverse("account_login")).content.decode()


def test_nobody_signs_up(client):
    response = client.post(
        reverse("account_signup"), {"username": "eve", "password1": "a-long-password", "password2": "a-long-password"}
    )

    assert "By invitation" in response.content.decode()


def test_signing_in_by_name_leads_home(client, otto):
    response = client.post(reverse("account_login"), {"login": "otto", "password": "a-long-password"})

    assert (response.status_code, response["Location"]) == (302, "/")


@pytest.mark.parametrize("name", ["account_login", "account_reset_password", "account_signup"])
def test_sign_in_pages_stand_on_the_studio_s_sheet(client, name):
    page = client.get(reverse(name)).content.decode()

    assert 'class="entrance"' in page
    assert "eqstudio/css/tokens.css" in page


@pytest.mark.parametrize(
    "name", ["account_change_password", "account_logout", "mfa_index", "account_email", "account_reauthenticate"]
)
def test_account_pages_stand_in_the_shell(client, otto, name):
    client.force_login(otto)
    response = client.get(reverse(name), follow=True)

    assert response.status_code == 200
    assert 'class="shell"' in response.content.decode()


def test_the_password_reset_page_sends_no_mail(client, mailoutbox):
    from tests.eqstudio.factories import UserFactory

    UserFactory(username="mia", email="mia@example.org")
    response = client.post(reverse("account_reset_password"), {"email": "mia@example.org"})

    assert response.status_code == 400
    assert "Ask an admin" in response.content.decode()
    assert mailoutbox == []


def test_the_policy_allows_no_inline_code_and_no_other_host(client):
    policy = client.get(reverse("account_login"))["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";") if " " in part.strip())

    assert "unsafe" not in policy
    assert directives["default-src"] == "'none'"
    assert directives["style-src"] == "'self'"
    assert set(directives["script-src"].split()) == {"'self'"}
    assert directives["frame-ancestors"] == "'none'"


def test_the_language_switch_stays_with_the_person(client, otto):
    client.force_login(otto)

    response = client.post(reverse("language"), {"language": "zh-hans", "next": "/me/"})

    otto.refresh_from_db()
    assert (response["Location"], otto.language, client.cookies["django_language"].value) == (
        "/me/",
        "zh-hans",
        "zh-hans",
    )
    page = client.get("/me/").content.decode()
    assert '<html lang="zh-hans">' in page
    assert "我的设置" in page


def test_the_language_switch_works_before_sign_in_and_never_leaves_the_studio(client):
    response = client.post(reverse("language"), {"language": "zh-hans", "next": "https://elsewhere.example/"})

    assert (response.status_code, response["Location"]) == (302, "/")
    assert '<html lang="zh-hans">' in client.get(reverse("account_login")).content.decode()


def test_an_unknown_language_names_those_there_are(client):
    response = client.post(reverse("language"), {"language": "tlh"})

    assert response.status_code == 400
    assert "Known: en, zh-hans." in response.content.decode()


def test_a_person_reads_pages_in_their_own_language_on_a_new_machine(otto):
    otto.language = "zh-hans"
    otto.save(update_fields=["language"])
    client = Client()

    client.post(reverse("account_login"), {"login": "otto", "password": "a-long-password"})

    assert '<html lang="zh-hans">' in client.get("/me/").content.decode()


def test_a_studio_error_becomes_a_page_with_its_status(rf, otto):
    request = rf.get("/")
    request.user, request.session = otto, {}
    request._messages = FallbackStorage(request)

    response = StudioErrorMiddleware(lambda _request: None).process_exception(request, Conflict("Somebody was first."))

    assert response.status_code == 409
    assert "Somebody was first." in response.content.decode()


def test_a_studio_error_becomes_json_for_programs(rf):
    request = rf.get("/", HTTP_ACCEPT="application/json")

    response = StudioErrorMiddleware(lambda _request: None).process_exception(
        request, InvalidInput("Too long.", field="name")
    )

    assert (response.status_code, json.loads(response.content)) == (400, {"error": "Too long.", "field": "name"})


def test_other_errors_pass_through(rf):
    assert StudioErrorMiddleware(lambda _request: None).process_exception(rf.get("/"), ValueError("a bug")) is None


def test_the_api_answers_a_studio_error_with_its_status():
    response = api_exception_handler(Conflict("Somebody was first."), {})

    assert (response.status_code, response.data) == (409, {"error": "Somebody was first.", "field": None})


def test_missing_pages_are_told_in_the_shell(client, otto):
    client.force_login(otto)
    response = client.get("/nowhere/")

    assert response.status_code == 404
    assert "There is no such page" in response.content.decode()


def test_the_strip_shows_what_runs(client, rita, monkeypatch):
    monkeypatch.setattr(running_jobs, "_names", ["tests.eqstudio.test_shell:two_jobs"])
    client.force_login(rita)
    page = client.get(reverse("running")).content.decode()

    assert "Making arena" in page
    assert "3 of 12" in page
    assert "about 2 minutes left" in page


def two_jobs(_now):
    return [Job("Making arena", "/x/", 3, 12, 130), Job("Exporting", "/y/", 0, 5)]


def test_the_strip_says_when_nothing_runs_and_stops_asking_when_signed_out(client, rita, alice):
    assert client.get(reverse("running")).status_code == 286
    client.force_login(alice)
    assert client.get(reverse("running")).status_code == 286
    client.force_login(rita)
    assert "Nothing runs now." in client.get(reverse("running")).content.decode()
