"""Equal behaviour, equal scores: the same study, sat by scripted respondents as people in the browser and as models over HTTP."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from eqstudio.benchmarks.base import Trial
from evaluation.models import Participant, Sitting, TrialRecord
from evaluation.services import comparison_build, respondent_drive, study_run
from evaluation.services.invitations import invitation_token, invitations_create
from generation.models import Variant
from tests.evaluation.factories import speecheq_study
from tests.openai_server import OpenAIServer, Recorded, Reply

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
SEED = 11
"""Of the order of items and options: the same sheet of questions for the person and the model that behave alike."""
WAIT_MS = 20_000
GONE = """async (uid) => {
    const end = performance.now() + 20_000;
    while (document.getElementById("sit-data")?.textContent.includes(uid)) {
        if (performance.now() > end) throw new Error("the question is still there after 20 s");
        await new Promise((done) => setTimeout(done, 20));
    }
}"""
"""Waits until the question has gone, 20 s at most."""

Heard = list[tuple[str, str]]
"""The options in the order shown: letter, and the hash of the sound that was heard under it."""


def oracle(heard: Heard, right: set[str]) -> str:
    return next(letter for letter, sound in heard if sound in right)


def always_first(heard: Heard, _right: set[str]) -> str:
    return heard[0][0]


def at_random(heard: Heard, _right: set[str]) -> str:
    """A whim about the sounds, whatever their order."""
    return max(heard, key=lambda one: hashlib.sha256(one[1].encode()).digest())[0]


def half_deaf(heard: Heard, right: set[str]) -> str:
    """Hears every other pair; of the rest they hear nothing and guess."""
    pair = "".join(sorted(sound for _letter, sound in heard))
    hears = hashlib.sha256(pair.encode()).digest()[0] % 2
    return oracle(heard, right) if hears else at_random(heard, right)


BEHAVIOURS: dict[str, Callable[[Heard, set[str]], str]] = {
    "oracle": oracle,
    "always-first": always_first,
    "random": at_random,
    "half-deaf": half_deaf,
}


def sounds(**which) -> dict[str, str]:
    return dict(Variant.objects.filter(clip__isnull=False, **which).values_list("uid", "clip__sha256"))


def person(page: Page, study, link: str, behave: Callable[[Heard, set[str]], str]) -> str:
    """Come in by the link, hear everything, answer by behaviour, to the end; the name of the respondent."""
    page.goto(link)
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#sit-begin")).to_be_visible()
    page.wait_for_load_state()  # from then on the page hears the keys
    one = Participant.objects.filter(study=study).latest("pk")
    Sitting.objects.filter(respondent=one.respondent).update(order_seed=SEED)
    page.keyboard.press("Enter")
    by_variant, right = sounds(), set(sounds(label="high").values())
    while True:
        expect(page.locator("#sit-form, .sit-finished").first).to_be_visible()
        if page.locator(".sit-finished").count():
            return one.respondent.name
        record = TrialRecord.objects.filter(sitting__respondent=one.respondent, responses=None).get()
        trial = Trial.from_dict(record.shown)
        letter = behave([(option.letter, by_variant[option.variant]) for option in trial.options], right)
        expect(page.locator(".clip.is-ready").first).to_be_visible()
        page.keyboard.press("p")
        expect(page.locator('input[name="answer"]').first).to_be_enabled(timeout=WAIT_MS)
        page.keyboard.press(str("AB".index(letter) + 1))
        page.keyboard.press("Enter")
        page.evaluate(GONE, record.uid)


def writer(right: set[str]) -> Callable[[Recorded], Reply]:
    """A model that hears the clips it is sent and behaves as its name says."""

    def write(recorded: Recorded) -> Reply:
        options = [hashlib.sha256(data).hexdigest() for data in recorded.audio[-2:]]
        letter = BEHAVIOURS[recorded.json["model"]](list(zip("AB", options, strict=True)), right)
        return Reply.text(f'{{"answer": "{letter}"}}')

    return write


def model(study, name: str, settings) -> str:
    settings.EXAM_MODEL = name
    respondent = study_run(study=study, backend="openai", runs=1)
    respondent.sittings.update(order_seed=SEED)
    (sitting,) = respondent_drive(respondent=respondent)
    assert (sitting.error, sitting.state) == ("", Sitting.State.FINISHED)
    return respondent.name


def test_people_in_the_browser_and_models_over_http_score_alike(new_page, settings):
    study = speecheq_study(items=2)
    invitation = invitations_create(study=study, max_uses=len(BEHAVIOURS))[0]
    link = reverse("sit_join", args=[invitation_token(invitation)])
    people = {name: person(new_page(), study, link, behave) for name, behave in BEHAVIOURS.items()}
    with OpenAIServer() as server:
        server.models = tuple(BEHAVIOURS)
        server.writer = writer(set(sounds(label="high").values()))
        settings.EXAM_BASE_URL, settings.EXAM_KEY_ENV = server.url, ""
        models = {name: model(study, name, settings) for name in BEHAVIOURS}

    table = {row["name"]: row for row in comparison_build(study=study)["respondents"]}

    for name in BEHAVIOURS:
        one, other = table[people[name]], table[models[name]]
        assert (one["kind"], other["kind"]) == ("person", "model")
        assert one["estimates"] == other["estimates"], name
        assert one["outcomes"] == other["outcomes"], name
    values = {name: table[models[name]]["estimates"]["acc_traj"]["value"] for name in BEHAVIOURS}
    assert values["oracle"] == 1.0
    assert values["random"] <= values["half-deaf"] <= values["oracle"]
