"""The way of a guest through a study in the browser: every page fits a phone and a desk, is clean to axe, works by keyboard."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.domain.headphones import tones_of
from annotation.services.headphones import token_open
from evaluation.models import Consent, Part, Participant, Response
from evaluation.services import protocol_lock
from evaluation.services.invitations import invitation_token, invitations_create
from evaluation.services.participants import consent_record
from evaluation.services.unblinding import study_unblind
from tests.eqstudio.factories import admin
from tests.evaluation.factories import model_respondent, sit_through, speecheq_study, wrong_answer
from tests.evaluation.people import answer_all, join, protocol, specials

pytestmark = pytest.mark.django_db(transaction=True)
WAIT_MS = 20_000
CONSENT = {
    "en": "You hear short dialogues.\n\nYour answers are stored under a code.",
    "zh": "您将听到简短的对话。\n\n您的回答以代码保存。",
}


@pytest.fixture
def study():
    made = speecheq_study(items=2, name="feelings")
    specials(made, Part.PRACTICE, 1)
    protocol(
        made,
        recruitment={
            "eligibility": "You are 18 or older.",
            "languages": ["en"],
            "consent": {"version": "1", "text": CONSENT, "ethics": "IRB 2026-7"},
            "demographics": ["age_band", "expertise"],
            "pay": 5.0,
            "currency": "EUR",
        },
        execution={"headphones": "required", "no_ai_statement": True, "practice": 1, "break_after": 1},
        design={"confidence": True, "comment": True},
        analysis={"exclusions": [{"rule": "incomplete", "threshold": None}, {"rule": "too_fast", "threshold": None}]},
    )
    return made


@pytest.fixture
def looks(axe_check):
    """Look at a page: clean to axe, no wider than the window, and a picture of it where a folder is named."""

    def look(page: Page, name: str) -> None:
        axe_check(page)
        width = page.viewport_size["width"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        if folder := os.environ.get("SCREENSHOTS"):
            language = page.evaluate("document.documentElement.lang")
            page.screenshot(path=Path(folder) / f"{name}-{language}-{width}.png", full_page=True)

    return look


def link_to(study) -> str:
    made = invitations_create(
        study=study, max_uses=9, codes={"complete": "DONE42"}, return_url="https://crowd.example/"
    )
    return reverse("sit_join", args=[invitation_token(made[0])])


def check_headphones(page: Page) -> None:
    seed, _trial = token_open(
        page.locator('input[name="check"]').input_value(), Participant.objects.get().respondent.user, timezone.now()
    )
    for trial in range(6):
        page.locator(f'input[name="answer-{trial + 1}"][value="{tones_of(seed, trial).quieter + 1}"]').check()
    page.locator("form .btn.primary").click()


def hear(page: Page) -> None:
    expect(page.locator(".clip.is-ready").first).to_be_visible()
    page.keyboard.press("p")
    expect(page.locator('input[name="answer"]').first).to_be_enabled(timeout=WAIT_MS)


def answer(page: Page, key: str = "1") -> None:
    count = Response.objects.count()
    hear(page)
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator('input[name="answer"]:checked')).to_have_count(0)
    assert Response.objects.count() == count + 1


def before_the_questions(page: Page, looks) -> None:
    """From the link to the first question: eligibility, consent, no AI, headphones, instructions."""
    looks(page, "join")
    page.locator("form .btn.primary.big").click()
    looks(page, "eligibility")
    page.locator('input[name="languages"]').check()
    page.locator('button[value="yes"]').click()
    looks(page, "consent")
    page.locator('button[value="yes"]').click()
    looks(page, "no-ai")
    page.locator('input[name="stated"]').check()
    page.locator("form .btn.primary").click()
    looks(page, "headphones")
    check_headphones(page)
    looks(page, "instructions")
    page.locator("#sit-begin button").click()


def practise(page: Page, looks) -> None:
    """Two questions of practice, each with what was expected; then Enter begins what counts."""
    looks(page, "practice")
    for _ in range(2):
        hear(page)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        expect(page.locator(".judge-told")).to_be_focused()
        looks(page, "feedback")
        page.keyboard.press("Enter")
        expect(page.locator(".judge-told")).to_have_count(0)
    looks(page, "practice-over")
    page.keyboard.press("Enter")


@pytest.mark.parametrize(("width", "locale"), [(360, "zh-CN"), (1440, "en-US")])
def test_a_guest_walks_the_whole_study(new_page, looks, study, width, locale):
    page = new_page(viewport={"width": width, "height": 900}, locale=locale)
    page.goto(link_to(study))
    before_the_questions(page, looks)
    practise(page, looks)
    hear(page)
    looks(page, "question")
    page.locator(".sit-confidence .judge-grade", has_text="4").click()
    page.locator("#sit-comment").fill("the breath")
    page.locator("#sit-comment").blur()
    answer(page)
    answer(page, "2")
    expect(page.locator('[data-pause="break"]')).to_be_visible()
    looks(page, "break")
    page.keyboard.press("Enter")
    answer(page)
    answer(page)
    page.locator(".sit-finished .btn.primary").click()
    looks(page, "about")
    page.locator("#about-age_band").select_option("25-34")
    page.locator("form .btn.primary").click()
    expect(page.locator("#completion-code")).to_have_text("DONE42")
    looks(page, "over")
    page.locator(".sit-finished .btn.quiet").click()
    looks(page, "withdraw")
    page.locator(".btn.danger").click()
    looks(page, "withdrawn")

    assert Consent.objects.get().language == ("zh" if locale.startswith("zh") else "en")
    told = Response.objects.get(trial__part="", paradata__order=3).paradata
    assert (told["confidence"], told["comment"], told["device"]) == (4, "the breath", "computer")
    assert Participant.objects.get().withdrawn_at is not None


def test_a_letter_plays_its_option_and_the_speed_is_everybodys(new_page):
    study = speecheq_study(items=1)
    page = new_page()
    page.goto(link_to(study))
    page.evaluate("sessionStorage.setItem('eqstudio.rate', '2')")
    page.locator("form .btn.primary.big").click()
    page.locator("#sit-begin button").click()
    expect(page.locator(".clip.is-ready").first).to_be_visible()

    page.keyboard.press("b")

    heard = page.locator('[data-letter="B"] .clip')
    expect(heard.locator(".clip-heard")).to_have_text("heard")
    assert page.evaluate("document.querySelector('[data-letter=\"B\"] .clip').player.audio.playbackRate") == 1
    assert page.locator(".clip-rate").count() == 0


def test_an_answer_survives_a_lost_connection_and_another_device_goes_on(new_page, console):
    study = speecheq_study(items=1)
    page = new_page()
    page.goto(link_to(study))
    page.locator("form .btn.primary.big").click()
    page.locator("#sit-begin button").click()
    hear(page)
    page.context.set_offline(True)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("#sit-outbox")).to_contain_text("1 answer")
    page.context.set_offline(False)
    page.locator("#sit-outbox .btn").last.click()
    expect(page.locator("#sit-outbox .notice")).to_have_count(0)
    console.clear()
    assert Response.objects.count() == 1

    other = new_page()
    other.goto(reverse("sit_code"))
    other.locator("#code").fill(Participant.objects.get().code)
    other.locator("form .btn.primary").click()

    expect(other.locator("#sit-form")).to_be_visible()
    answer(other)
    expect(other.locator(".sit-finished")).to_contain_text("You have finished")


def agreed(study):
    """The sitting of somebody who came in and agreed to take part."""
    sitting = join(study).sitting
    participant = Participant.objects.get(respondent=sitting.respondent)
    consent_record(participant=participant, agreed=True, language="en")
    return sitting


@pytest.mark.parametrize("size", [(360, "zh-hans"), (1440, "en")])
def test_the_researchers_pages_fit(new_page, sign_in, looks, study, size):
    width, language = size
    protocol_lock(study=study)
    link_to(study)
    answer_all(agreed(study))
    answer_all(agreed(study), choose=wrong_answer, stop=3)
    sit_through(study, respondent=model_respondent(study), choose=wrong_answer)
    page = new_page(viewport={"width": width, "height": 900})
    sign_in(page, admin(language=language))
    addresses = {
        name: reverse(name, args=[study.uid]) for name in ("study_people", "invitations", "study_specials", "study")
    }
    page.goto(addresses["study_people"])
    looks(page, "people-blind")
    study_unblind(study=study)
    for name, address in addresses.items():
        page.goto(address)
        looks(page, name)
    page.goto(reverse("sit_code"))
    looks(page, "code")


@pytest.mark.parametrize("size", [(360, 740), (1440, 900)])
def test_what_is_sent_back_says_why(new_page, sign_in, looks, study, *, console, size):
    made = invitations_create(study=study, max_uses=9, parameters={"person": "PROLIFIC_PID"})
    link = reverse("sit_join", args=[invitation_token(made[0])])
    page = new_page(viewport={"width": size[0], "height": size[1]})

    page.goto(f"{link}?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}")
    expect(page.get_by_text("has to be opened from the platform")).to_be_visible()
    looks(page, "join-nameless")
    page.goto(f"{link}?PROLIFIC_PID=abc")
    page.locator("form .btn.primary.big").click()
    page.locator('button[value="yes"]').click()
    expect(page.locator("#languages-error")).to_be_visible()
    looks(page, "eligibility-forgotten")
    page.locator('button[value="no"]').click()
    expect(page.locator("[data-outcome='screened_out']")).to_contain_text("not true of you. Thank you")
    looks(page, "screened-out")

    protocol_lock(study=study)
    boss = new_page(viewport={"width": size[0], "height": size[1]})
    sign_in(boss, admin())
    boss.goto(reverse("study_specials", args=[study.uid]))
    expect(boss.get_by_text("The protocol is locked, and these items with it.")).to_be_visible()
    looks(boss, "specials-locked")
    console.clear()
