"""The pages of a person's way through a study, and the researcher's pages about people."""

import json
import re

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.domain.headphones import tones_of
from annotation.services.headphones import token_open
from evaluation.models import Consent, Part, Participant, PersonalDetails, Response, Sitting, TrialRecord
from evaluation.services import sitting_cancel, study_close
from evaluation.services.invitations import invitation_token, invitations_create
from tests.evaluation.factories import heard_all, right_answer, speecheq_study, wrong_answer
from tests.evaluation.people import answer_all, protocol, specials

pytestmark = pytest.mark.django_db
JSON = {"HTTP_ACCEPT": "application/json"}
FULL = {
    "recruitment": {
        "eligibility": "You are of age.",
        "languages": ["en"],
        "consent": {"version": "3", "text": {"en": "Do you agree to all this?", "zh": "您同意吗？"}, "ethics": "IRB 7"},
        "demographics": ["age_band"],
    },
    "execution": {"no_ai_statement": True, "practice": 1, "break_after": 1},
    "design": {"confidence": True, "comment": True},
}


@pytest.fixture(autouse=True)
def fresh_rates():
    cache.clear()


@pytest.fixture
def study(db):
    return speecheq_study(items=2)


@pytest.fixture
def link(study):
    return reverse("sit_join", args=[invitation_token(invitations_create(study=study, max_uses=5)[0])])


@pytest.fixture
def crowd_link(study):
    made = invitations_create(
        study=study,
        max_uses=5,
        parameters={"person": "PROLIFIC_PID", "session": "SESSION_ID"},
        codes={"complete": "DONE42"},
        return_url="https://platform.example/back?cc={code}",
    )
    return reverse("sit_join", args=[invitation_token(made[0])])


def come_in(client, link):
    """Through the link to the sitting's address."""
    return client.post(link)["Location"]


def body(record, answer, **more):
    times = {"shown_at": "2026-01-01T00:00:00Z", "submitted_at": "2026-01-01T00:01:00Z", "active_ms": 30_000}
    return {
        "trial": record.uid,
        "client_key": f"key-{record.uid}",
        "answer": answer,
        "heard": {uid: [[0.0, 1000.0]] for uid in heard_all(record)},
        "paradata": times,
        **more,
    }


def send(client, here, record, answer, **more):
    sent = json.dumps(body(record, answer, **more))
    return client.post(f"{here}answer/", sent, content_type="application/json", **JSON).json()


def waiting(study):
    return TrialRecord.objects.filter(sitting__respondent__study=study, responses=None).last()


def test_looking_at_a_link_uses_nothing_up(client, link):
    for _ in range(3):
        assert "Begin" in client.get(link).content.decode()

    assert Participant.objects.count() == 0


def test_a_guest_is_known_on_the_next_page_as_the_studio_finds_people_again(client, link):
    here = client.post(link)["Location"]

    assert client.get(here).status_code == 200
    assert client.session["_auth_user_backend"] in settings.AUTHENTICATION_BACKENDS


def test_the_whole_way_of_a_guest(client, study, crowd_link):
    specials(study, Part.PRACTICE, 1)
    protocol(study, **FULL)
    here = come_in(client, f"{crowd_link}?PROLIFIC_PID=abc123&SESSION_ID={{{{%SESSION_ID%}}}}")

    def page():
        return client.get(here).content.decode()

    assert "You are of age." in page()
    client.post(f"{here}eligible/", {"eligible": "yes", "languages": ["en"]})
    assert "Do you agree to all this?" in page()
    assert TrialRecord.objects.count() == 0
    client.post(f"{here}consent/", {"consent": "yes"})
    assert "no AI tool" in page()
    client.post(f"{here}no-ai/", {"stated": "yes"})
    assert "First 1 dialogue to practise on" in page()
    client.post(f"{here}begin/")
    assert "practice: does not count" in page()
    told = [send(client, here, waiting(study), wrong_answer(waiting(study))) for _ in range(2)]
    assert all("Something else was expected" in one["feedback"] for one in told)
    assert 'data-pause="practice"' in told[1]["html"]
    client.post(f"{here}go-on/", {"done": "0"})
    assert "1 of 2" in page()
    first = send(client, here, waiting(study), right_answer(waiting(study)), confidence=4, comment="the voice shook")
    assert set(first) == {"sitting", "html"}
    assert 'data-pause="break"' in send(client, here, waiting(study), right_answer(waiting(study)))["html"]
    client.post(f"{here}go-on/", {"done": "1"})
    page()
    send(client, here, waiting(study), right_answer(waiting(study)))
    last = send(client, here, waiting(study), right_answer(waiting(study)))
    assert "One page is left" in last["html"]
    assert "How old are you?" in page()
    client.post(f"{here}about/", {"age_band": "35-44"})
    over = page()

    assert "DONE42" in over
    assert "https://platform.example/back?cc=DONE42" in over
    consent = Consent.objects.get()
    assert (consent.version, consent.language, consent.agreed) == ("3", "en", True)
    details = PersonalDetails.objects.get()
    assert (details.crowd, details.answers) == ({"person": "abc123"}, {"age_band": "35-44"})
    paradata = Response.objects.get(trial__part="", paradata__order=3).paradata
    assert (paradata["confidence"], paradata["comment"]) == (4, "the voice shook")


@pytest.mark.parametrize("languages", [["en"], []])
def test_who_says_that_they_are_not_eligible_is_told_so_and_asked_nothing(client, study, link, languages):
    protocol(study, **FULL)
    here = come_in(client, link)

    client.post(f"{here}eligible/", {"eligible": "no", "languages": languages})

    over = client.get(here).content.decode()
    assert 'data-outcome="screened_out"' in over
    assert "You said that what it asks of people is not true of you. Thank you for your time." in over
    assert TrialRecord.objects.count() == 0


@pytest.mark.parametrize(("sent", "ticked"), [({"eligible": "yes"}, []), ({"eligible": "yes"}, ["zh"]), ({}, ["zh"])])
def test_a_forgotten_tick_is_asked_for_again_and_screens_nobody_out(client, study, link, sent, ticked):
    protocol(study, recruitment={**FULL["recruitment"], "languages": ["en", "zh"]})
    here = come_in(client, link)

    again = client.post(f"{here}eligible/", {**sent, "languages": ticked})

    html = again.content.decode()
    assert (again.status_code, "languages-error" in html) == (422, True)
    assert ('value="zh" checked' in html, 'value="en" checked' in html) == ("zh" in ticked, False)
    assert Participant.objects.get().outcome == ""
    client.post(f"{here}eligible/", {"eligible": "yes", "languages": ["en", "zh"]})
    assert "Do you agree to all this?" in client.get(here).content.decode()


def test_no_consent_no_question_whatever_is_sent(client, study, link):
    protocol(study, recruitment=FULL["recruitment"])
    here = come_in(client, link)
    client.post(f"{here}eligible/", {"eligible": "yes", "languages": ["en"]})

    client.post(f"{here}begin/")
    client.post(f"{here}go-on/", {"done": "0"})
    client.post(f"{here}about/", {"age_band": "35-44"})
    assert "Do you agree to all this?" in client.get(here).content.decode()
    client.post(f"{here}consent/", {"consent": "no"})

    assert 'data-outcome="withdrawn"' in client.get(here).content.decode()
    assert (TrialRecord.objects.count(), PersonalDetails.objects.count()) == (0, 0)


def test_headphones_are_checked_with_the_annotators_own_check(client, study, link):
    protocol(study, execution={"headphones": "required"})
    here = come_in(client, link)
    html = client.get(here).content.decode()
    token = re.search(r'name="check" value="([^"]+)"', html).group(1)
    sounds = re.findall(r'<audio[^>]+src="([^"]+)"', html)
    assert [client.get(sound).status_code for sound in sounds] == [200] * 6

    me = Participant.objects.get().respondent.user
    seed, _trial = token_open(token, me, timezone.now())
    answers = {f"answer-{n}": tones_of(seed, n - 1).quieter + 1 for n in range(1, 7)}
    client.post(f"{here}headphones/", {"check": token, **answers})

    assert "Instructions" in client.get(here).content.decode()


def test_three_failed_checks_screen_out_where_headphones_are_required(client, study, link):
    protocol(study, execution={"headphones": "required"})
    here = come_in(client, link)
    for _ in range(3):
        token = re.search(r'name="check" value="([^"]+)"', client.get(here).content.decode()).group(1)
        me = Participant.objects.get().respondent.user
        seed, _trial = token_open(token, me, timezone.now())
        wrong = {f"answer-{n}": (tones_of(seed, n - 1).quieter + 1) % 3 + 1 for n in range(1, 7)}
        client.post(f"{here}headphones/", {"check": token, **wrong})

    assert 'data-outcome="screened_out"' in client.get(here).content.decode()


def test_a_guest_goes_on_with_their_code_on_another_device(client, study, link):
    here = come_in(client, link)
    client.post(f"{here}begin/")
    client.get(here)
    record = waiting(study)
    code = Participant.objects.get().code
    other = Client()

    assert other.get(here).status_code == 302
    assert other.post(reverse("sit_code"), {"code": code.upper()})["Location"] == here
    assert record.uid in other.get(here).content.decode()


def test_codes_cannot_be_tried_without_end(client, link):
    come_in(client, link)
    code, stranger = Participant.objects.get().code, Client()

    statuses = [stranger.post(reverse("sit_code"), {"code": f"2222-3333-44{n:02}"}).status_code for n in range(11)]

    assert statuses == [422] * 10 + [429]
    assert stranger.post(reverse("sit_code"), {"code": code}).status_code == 429


def test_the_same_platform_person_is_sent_to_their_code(client, crowd_link):
    come_in(client, f"{crowd_link}?PROLIFIC_PID=abc123")

    again = Client().post(f"{crowd_link}?PROLIFIC_PID=abc123")

    assert again.status_code == 409
    assert reverse("sit_code") in again.content.decode()
    assert Participant.objects.count() == 1


@pytest.mark.parametrize("address", ["", "?PROLIFIC_PID=", "?PROLIFIC_PID={{%PROLIFIC_PID%}}", "?OTHER=abc123"])
def test_a_platform_link_that_names_nobody_takes_nobody_in(client, crowd_link, address):
    looked, pressed = client.get(f"{crowd_link}{address}"), client.post(f"{crowd_link}{address}")

    assert [one.status_code for one in (looked, pressed)] == [200, 409]
    for page in (looked, pressed):
        assert "has to be opened from the platform" in page.content.decode()
        assert ">Begin<" not in page.content.decode()
    assert (Participant.objects.count(), PersonalDetails.objects.count()) == (0, 0)


def test_who_is_in_by_a_platform_link_goes_on_without_its_name(client, crowd_link):
    here = come_in(client, f"{crowd_link}?PROLIFIC_PID=abc123")

    assert ">Begin<" in client.get(crowd_link).content.decode()
    assert client.post(crowd_link)["Location"] == here


def test_opening_the_link_again_in_the_same_browser_goes_on(client, link):
    assert come_in(client, link) == come_in(client, link)
    assert Participant.objects.count() == 1


def test_a_guest_is_led_back_to_their_sitting(client, link):
    here = come_in(client, link)

    assert client.get("/")["Location"] == here
    assert client.get(reverse("me")).status_code == 404
    assert client.get(reverse("studies")).status_code == 404


def test_a_guest_withdraws_by_the_page_also_afterwards(client, study, link):
    here = come_in(client, link)
    participant = Participant.objects.get()
    answer_all(participant.respondent.sittings.get())
    client.get(here)

    assert "Withdraw my answers" in client.get(f"{here}withdraw/").content.decode()
    client.post(f"{here}withdraw/")

    participant.refresh_from_db()
    assert (participant.outcome, participant.reason) == ("complete", "")
    assert participant.withdrawn_at is not None
    assert "in no figure any more" in client.get(here).content.decode()


def test_who_only_practised_can_withdraw_too(client, study, link):
    specials(study, Part.PRACTICE, 1)
    protocol(study, execution={"practice": 1})
    here = come_in(client, link)
    sitting = Participant.objects.get().respondent.sittings.get()
    withdraw = reverse("sit_withdraw", args=[sitting.uid])

    sitting_cancel(sitting=sitting)
    assert withdraw not in client.get(here).content.decode()
    Sitting.objects.update(state="open")
    sitting.refresh_from_db()
    assert answer_all(sitting, stop=1) == ["practice"]
    sitting_cancel(sitting=sitting)
    assert withdraw in client.get(here).content.decode()


def test_a_study_that_is_not_ready_says_so_on_the_page(client, study, link):
    protocol(study, execution={"attention": 1})
    here = come_in(client, link)

    client.post(f"{here}begin/")

    answer = client.get(here)
    assert answer.status_code == 409
    assert "not ready" in answer.content.decode()


def test_attention_items_and_repetitions_look_like_any_other_question(client, study, link):
    specials(study, Part.ATTENTION, 1)
    protocol(study, execution={"attention": 1, "repeats": 1})
    here = come_in(client, link)
    client.post(f"{here}begin/")
    client.get(here)
    pages = []
    while (record := waiting(study)) is not None:
        html = client.get(here).content.decode()
        main = html[html.index('<div id="sit-question">') : html.index('<template id="keys">')]
        assert not re.search(r"attention|repeat\b|repetition|practice", re.sub(r'data-[a-z]+="[^"]*"', "", main))
        pages.append(re.search(r"(\d) of (\d)", main).group(0))
        assert set(send(client, here, record, "A")) == {"sitting", "html"}

    assert pages == [f"{n} of 4" for n in (1, 1, 2, 2, 3, 3, 4, 4)]


# The researcher's pages


def test_nobody_goes_on_in_a_closed_study_and_what_was_answered_stays(client, study, link):
    here = come_in(client, link)
    client.post(f"{here}begin/")
    client.get(here)
    record = waiting(study)
    study_close(study=study)

    answer = send(client, here, record, "A")

    assert "data-closed" in answer["html"]
    assert Response.objects.count() == 1
    assert waiting(study) is None
    assert "data-closed" in client.get(here).content.decode()


def test_guests_are_no_people_of_the_house(client, study, link, ada):
    come_in(client, link)
    guest = Participant.objects.get().respondent.user
    client.force_login(ada)

    assert guest.username not in client.get(reverse("people")).content.decode()
