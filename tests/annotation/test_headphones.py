"""The headphone check: sounds that tell nothing by their outside, scored on the server, asked for by rounds."""

import io
from datetime import timedelta

import numpy as np
import pytest
import soundfile
from django.urls import reverse
from django.utils import timezone

from annotation.domain.headphones import TONES, TRIALS, tones_of
from annotation.models import HeadphoneCheck
from annotation.selectors.quality import headphones_due, headphones_passed
from annotation.services.headphones import (
    TRIES_AN_HOUR,
    check_token,
    headphone_check,
    sound_addresses,
    sound_bytes,
)
from eqstudio.errors import Conflict, InvalidInput, NotFound
from eqstudio.models import Event
from tests.annotation.quality import quality_round
from tests.eqstudio.factories import annotator

pytestmark = pytest.mark.django_db
SEED = 20_260


def answers_of(seed, wrong=0):
    """The right places, the first ``wrong`` of them missed."""
    right = [tones_of(seed, trial).quieter for trial in range(TRIALS)]
    return [(place + 1) % TONES if trial < wrong else place for trial, place in enumerate(right)]


def check(person, *, seed=SEED, wrong=0, now=None):
    now = now or timezone.now()
    token = check_token(annotator=person, now=now, seed=seed)
    return headphone_check(annotator=person, token=token, answers=answers_of(seed, wrong), now=now)


@pytest.mark.parametrize(("wrong", "passed"), [(0, True), (1, True), (2, False), (6, False)])
def test_five_of_six_pass(wrong, passed):
    person = annotator()
    made = check(person, wrong=wrong)

    assert (made.right, made.asked, made.passed) == (6 - wrong, 6, passed)
    assert headphones_passed(annotator=person, hours=1, now=timezone.now()) is passed
    assert Event.objects.get(verb="checked headphones").detail == {"passed": passed}


def test_a_check_is_answered_once():
    person = annotator()
    check(person, wrong=6)

    with pytest.raises(Conflict, match="answered already"):
        check(person)

    assert HeadphoneCheck.objects.count() == 1


def test_nobody_can_try_until_they_guess_it():
    person = annotator()
    for seed in range(TRIES_AN_HOUR):
        check(person, seed=seed, wrong=6)

    with pytest.raises(Conflict, match="last try for this hour"):
        check(person, seed=99)


@pytest.mark.parametrize("answers", [[], [0] * 5, [0] * 7, [0, 1, 2, 0, 1, 3], [-1] * 6])
def test_every_part_wants_an_answer(answers):
    person, now = annotator(), timezone.now()

    with pytest.raises(InvalidInput) as raised:
        headphone_check(annotator=person, token=check_token(annotator=person, now=now), answers=answers, now=now)

    assert raised.value.field == "answers"


def test_a_check_belongs_to_one_person_for_half_an_hour():
    person, now = annotator(), timezone.now()
    token = check_token(annotator=person, now=now)
    (sound, *_others) = [address.split("/")[-2] for address in sound_addresses(token=token, annotator=person, now=now)]

    for holder, at, given in [
        (annotator(), now, sound),
        (person, now + timedelta(minutes=31), sound),
        (person, now, sound[:-4] + "AAAA"),
        (person, now, token),
    ]:
        with pytest.raises(NotFound, match="expired"):
            sound_bytes(token=given, annotator=holder, now=at)


def test_sounds_are_alike_on_the_outside():
    person, now = annotator(), timezone.now()
    token = check_token(annotator=person, now=now, seed=SEED)
    addresses = sound_addresses(token=token, annotator=person, now=now)
    sounds = [sound_bytes(token=address.split("/")[-2], annotator=person, now=now) for address in addresses]

    assert len({len(address) for address in addresses}) == 1
    assert len(set(addresses)) == TRIALS
    assert len({len(sound) for sound in sounds}) == 1
    assert str(SEED) not in "".join([token, *addresses])
    assert sound_addresses(token=token, annotator=person, now=now) != addresses  # sealed anew each time


def test_the_sound_has_one_quieter_and_one_turned_tone():
    person, now = annotator(), timezone.now()
    token = check_token(annotator=person, now=now, seed=SEED)
    for trial, address in enumerate(sound_addresses(token=token, annotator=person, now=now)):
        data = sound_bytes(token=address.split("/")[-2], annotator=person, now=now)
        samples, rate = soundfile.read(io.BytesIO(data))
        parts = [samples[place * rate * 3 // 2 : place * rate * 3 // 2 + rate] for place in range(TONES)]
        left = [float(np.sqrt((part[:, 0] ** 2).mean())) for part in parts]
        both = [float(np.sqrt((part.sum(axis=1) ** 2).mean())) for part in parts]

        assert samples.shape[1] == 2
        assert int(np.argmin(left)) == tones_of(SEED, trial).quieter
        assert int(np.argmin(both)) == tones_of(SEED, trial).turned  # what a loudspeaker makes of it


def test_a_round_wants_the_check_while_it_is_not_good():
    person, now = annotator(), timezone.now()
    made = quality_round(quality={"headphones": True, "headphones_hours": 2})

    assert headphones_due(round=made, annotator=person, now=now)
    check(person)
    assert not headphones_due(round=made, annotator=person, now=timezone.now())
    assert headphones_due(round=made, annotator=person, now=now + timedelta(hours=2, minutes=1))
    assert not headphones_due(round=quality_round(), annotator=person, now=now)


# The pages


@pytest.fixture
def round_(db):
    return quality_round(items=1, quality={"headphones": True})


def post(client, round_, *, seed=SEED, person, wrong=0):
    token = check_token(annotator=person, now=timezone.now(), seed=seed)
    answers = {f"answer-{trial + 1}": place + 1 for trial, place in enumerate(answers_of(seed, wrong))}
    return client.post(reverse("headphones", args=[round_.uid]), {"check": token, **answers})


def test_the_round_sends_people_there_first_and_lets_them_on(client, alice, round_):
    client.force_login(alice)
    judge = reverse("judge", args=[round_.uid])

    assert client.get(judge).url == reverse("headphones", args=[round_.uid])
    assert client.get(reverse("judge_next", args=[round_.uid])).status_code == 409

    assert post(client, round_, person=alice).url == judge
    assert client.get(judge).status_code == 200
    assert client.get(reverse("judge_next", args=[round_.uid])).status_code == 200


def test_the_api_gives_nothing_before_the_check(client, alice, round_):
    client.force_login(alice)

    answer = client.post(f"/api/v1/rounds/{round_.uid}/next/", content_type="application/json")

    assert (answer.status_code, "headphones" in answer.json()["error"]) == (409, True)


def test_failing_says_so_and_offers_new_sounds(client, alice, round_):
    client.force_login(alice)

    answer = post(client, round_, person=alice, wrong=4)

    assert answer.status_code == 422
    assert "2 of 6 were right" in answer.content.decode()
    assert answer.context["token"] != check_token(annotator=alice, now=timezone.now(), seed=SEED)
    assert "That did not work" in post(client, round_, person=alice).content.decode()  # the same check again


def test_sounds_are_served_whole_and_in_part(client, alice, round_):
    client.force_login(alice)
    page = client.get(reverse("headphones", args=[round_.uid]))
    address = page.context["sounds"][0]

    whole = client.get(address)
    part = client.get(address, headers={"range": "bytes=0-99"})

    assert (whole.status_code, whole["Content-Type"], whole["Cache-Control"]) == (
        200,
        "audio/wav",
        "max-age=0, no-cache, no-store, must-revalidate, private",
    )
    assert (part.status_code, part["Content-Range"]) == (206, f"bytes 0-99/{len(whole.content)}")
    assert part.content == whole.content[:100]
    assert client.get(address, headers={"range": "bytes=999999999-"}).status_code == 416
