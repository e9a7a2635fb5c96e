"""Judges in a real browser: the headphone check by keyboard, a known answer made by hand, a person's page."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotation.domain.headphones import TRIALS, tones_of
from annotation.models import GoldAnswer, HeadphoneCheck
from annotation.services.headphones import token_open
from tests.annotation.quality import place, quality_round, work
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db(transaction=True)


def seed_of(page, person) -> int:
    """What only the server can read."""
    token = page.locator("input[name=check]").get_attribute("value")
    return token_open(token, person, timezone.now())[0]


def answer(page, places) -> None:
    """Choose by keyboard: Tab to the group, arrows to the tone."""
    for trial, tone in enumerate(places, start=1):
        first = page.locator(f"input[name=answer-{trial}]").first
        first.focus()
        page.keyboard.press("Space")
        for _ in range(tone):
            page.keyboard.press("ArrowRight")


def test_headphones_are_checked_by_ear_and_keyboard(page, console, sign_in, axe_check, alice):
    made = quality_round(items=1, quality={"headphones": True})
    sign_in(page, alice)
    page.goto(f"/judge/{made.uid}/")

    expect(page.get_by_role("heading", name="Headphone check")).to_be_visible()
    axe_check(page)
    heard = page.locator("audio").first.evaluate(
        "async sound => { await sound.play(); await new Promise(done => sound.onended = done); return sound.currentTime }"
    )
    assert heard == pytest.approx(4.0, abs=0.05)

    wrong = [(tones_of(seed_of(page, alice), trial).quieter + 1) % 3 for trial in range(TRIALS)]
    answer(page, wrong)
    with page.expect_response(lambda response: response.request.method == "POST") as told:
        page.keyboard.press("Enter")
    assert told.value.status == 422
    expect(page.get_by_role("alert")).to_contain_text("0 of 6 were right")
    console.clear()  # Chromium reports the 422

    answer(page, [tones_of(seed_of(page, alice), trial).quieter for trial in range(TRIALS)])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/judge/{made.uid}/")
    assert list(HeadphoneCheck.objects.order_by("pk").values_list("right", flat=True)) == [0, 6]


def test_a_known_answer_is_heard_and_given(page, sign_in, axe_check, rita):
    made = quality_round(items=1)
    dialogue = speecheq_dialogue(corpus=made.corpus)
    sign_in(page, rita)
    page.goto(f"/rounds/{made.uid}/gold/")
    axe_check(page)
    page.get_by_label("Code of the dialogue").fill(dialogue.uid)
    page.get_by_role("button", name="Say what is right").click()

    axe_check(page)
    page.get_by_label("Asked as").select_option("training")
    page.get_by_label("Known verdict").select_option("keep")
    page.get_by_label("Known grade of A").select_option("4")
    page.get_by_label("Why").fill("Her voice falls at the end.")
    page.get_by_role("button", name="Keep this answer").click()

    expect(page.get_by_role("row", name="training")).to_contain_text("keep; 1 grade within 1")
    assert GoldAnswer.objects.get().explanation == "Her voice falls at the end."


def test_a_persons_page_reads_well_and_pauses(page, sign_in, axe_check, alice, rita):
    made = quality_round(items=3, quality={"fastest_share": 0.4})
    place(made, alice)
    work(made, alice, 3, active_ms=10)
    sign_in(page, rita)
    page.goto(reverse("round_people", args=[made.uid]))
    axe_check(page)
    page.get_by_role("link", name=str(alice), exact=True).click()

    axe_check(page)
    expect(page.get_by_text("Faster than the sound").first).to_be_visible()
    page.get_by_label("Note to the person").fill("Let us talk.")
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Let go on")).to_be_visible()

    sign_in(page, alice)
    page.goto(reverse("my_work"))
    expect(page.get_by_text("Let us talk.")).to_be_visible()
    axe_check(page)
