"""Listening in a real browser: the gate, the keys, lost connections, reloads, the exam."""

import io
import math
import re
import struct
import wave

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Assignment, Judgement
from eqstudio.blobs import blob_put
from evaluation.models import Response, Sitting
from generation.models import Clip, Variant
from tests.annotation.factories import round_with
from tests.evaluation.factories import emosbench_study, speecheq_study

pytestmark = pytest.mark.django_db(transaction=True)

SECONDS = 1.0
RATE = 8_000


def clip_of_a_second(pitch: float) -> Clip:
    """A second of a tone that swells and fades, with the peaks that belong to it."""
    loudness = [0.5 * math.sin(math.pi * n / (SECONDS * RATE)) for n in range(int(SECONDS * RATE))]
    samples = [int(32767 * amp * math.sin(2 * math.pi * pitch * n / RATE)) for n, amp in enumerate(loudness)]
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as handle:
        handle.setnchannels(1)
        handle.setsampwidth(2)
        handle.setframerate(RATE)
        handle.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    data = buffer.getvalue()
    return Clip.objects.create(
        sha256=blob_put(data),
        media_type="audio/wav",
        size=len(data),
        frames=len(samples),
        sample_rate=RATE,
        channels=1,
        duration=SECONDS,
        peak=-6.0,
        peaks=[round(loudness[len(loudness) * slice_ // 400], 3) for slice_ in range(400)],
    )


def voice() -> None:
    """Give every variant a clip that lasts long enough to be paused in the middle."""
    for number, variant in enumerate(Variant.objects.order_by("pk")):
        variant.clip = clip_of_a_second(200 + 10.3 * number)
        variant.save(update_fields=["clip"])


@pytest.fixture
def alice_page(new_page, sign_in, alice):
    """Open a page for Alice; options are those of ``new_page``."""

    def open_page(**options):
        page = new_page(**options)
        sign_in(page, alice)
        return page

    return open_page


@pytest.fixture
def round_(db):
    made = round_with(items=2, name="arena-english")
    voice()
    return made


@pytest.fixture
def judging(alice_page, round_):
    page = alice_page()
    page.goto(f"/judge/{round_.uid}/")
    expect(page.locator(".clip.is-ready")).to_have_count(8)
    return page


def hear_everything(page, scope="#main") -> None:
    """Play every clip to its end, one after another, as a person does."""
    clips = page.locator(f"{scope} .clip")
    for index in range(clips.count()):
        clips.nth(index).locator(".clip-play").click()
        expect(clips.nth(index)).to_have_class(re.compile("is-heard"))
        expect(clips.nth(index)).not_to_have_class(re.compile("is-playing"))


def hear_quickly(page) -> None:
    page.evaluate("sessionStorage.setItem('eqstudio.rate', '2')")
    page.reload()
    hear_everything(page)


def judge_by_mouse(page) -> None:
    for letter in "ABCD":
        page.locator(f'[data-letter="{letter}"] .judge-grade', has_text="3").click()
    page.locator(".judge-choice", has_text="Keep").click()


def test_grades_unlock_only_after_listening(judging):
    page = judging
    slot = page.locator('[data-letter="A"]')
    expect(slot.locator("input").first).to_be_disabled()
    expect(page.locator("#judge-submit-text")).to_have_text("Hear 1 Speaker1")

    page.keyboard.press("a")
    page.keyboard.press("3")
    expect(page.locator("#judge-news")).to_have_text("Hear A")
    page.keyboard.press("Space")
    expect(slot.locator(".clip-heard")).to_have_text("heard")
    expect(slot.locator("input").first).to_be_enabled()


def test_skipping_through_a_clip_is_not_hearing_it(judging):
    slot = judging.locator('[data-letter="A"]')
    slot.locator(".clip-wave").click()
    judging.keyboard.press("Space")
    expect(slot.locator(".clip-heard")).to_have_text(re.compile(r"^[45]\d % heard$"))
    expect(slot.locator(".clip")).not_to_have_class(re.compile("is-playing"))

    expect(slot.locator("input").first).to_be_disabled()


def test_one_clip_plays_at_a_time_and_x_goes_on_in_the_other(judging):
    page = judging
    page.keyboard.press("a")
    page.keyboard.press("[")
    page.keyboard.press("[")
    page.keyboard.press("Space")
    expect(page.locator('[data-letter="A"] .clip')).to_have_class(re.compile("is-playing"))
    page.keyboard.press("x")

    expect(page.locator('[data-letter="B"] .clip')).to_have_class(re.compile("is-playing"))
    expect(page.locator(".clip.is-playing")).to_have_count(1)
    expect(page.locator('[data-letter="A"] .clip-rate')).to_have_text("0.5×")


def test_judging_by_keyboard_alone(judging, alice):
    page = judging
    for _ in range(2):
        page.keyboard.press("]")
        page.keyboard.press("]")
    clips = page.locator(".clip")
    for index in range(8):
        page.keyboard.press("Enter")
        page.keyboard.press("Space")
        expect(clips.nth(index)).to_have_class(re.compile("is-heard"))
        expect(clips.nth(index)).not_to_have_class(re.compile("is-playing"))
    for letter, grade in zip("abcd", "4231", strict=True):
        page.keyboard.press(letter)
        page.keyboard.press(grade)
    page.keyboard.press("m")
    page.keyboard.type("kr 1 z said aloud")
    page.keyboard.press("Tab")
    page.keyboard.press("k")
    expect(page.locator("#judge-submit-text")).to_have_text("Submit")
    page.keyboard.press("a")
    page.keyboard.press("Enter")

    expect(page.locator("#judge-news")).to_contain_text("Judgement saved.")
    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    judgement = Judgement.objects.get()
    assert judgement.comment == "kr 1 z said aloud"
    shown = judgement.assignment.shown
    order = shown["4"] + shown["6"]
    grades = {grade.variant.uid: grade.value for grade in judgement.grades.all()}
    assert [grades[uid] for uid in order] == [4, 2, 3, 1]
    assert judgement.active_ms > 0


def test_undo_brings_the_item_back(judging):
    page = judging
    hear_quickly(page)
    judge_by_mouse(page)
    page.locator("#judge-submit").click()
    expect(page.locator("#judge-news")).to_contain_text("Judgement saved.")
    page.keyboard.press("z")

    expect(page.locator("#judge-news")).to_contain_text("taken back")
    expect(page.locator('[data-letter="A"] input[value="3"]')).to_be_checked()
    expect(page.locator("#judge-submit-text")).to_have_text("Submit")
    assert Judgement.objects.filter(retracted=True).count() == 1


def test_double_click_stores_one(judging):
    page = judging
    hear_quickly(page)
    judge_by_mouse(page)
    page.locator("#judge-submit").dblclick()

    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    assert Judgement.objects.count() == 1


def test_offline_keeps_the_judgement_and_sends_it_later(judging, console):
    page = judging
    hear_quickly(page)
    judge_by_mouse(page)
    page.context.set_offline(True)
    page.locator("#judge-submit").click()
    expect(page.locator("#judge-outbox")).to_contain_text("Not saved yet: 1 answer waits here.")
    assert Judgement.objects.count() == 0

    page.context.set_offline(False)
    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    expect(page.locator("#judge-outbox")).to_be_empty()
    assert Judgement.objects.count() == 1
    assert all("ERR_INTERNET_DISCONNECTED" in line for line in console)
    console.clear()


def test_lost_session_keeps_the_judgement_through_sign_in_and_reload(judging, sign_in, alice):
    page = judging
    hear_quickly(page)
    judge_by_mouse(page)
    page.context.clear_cookies(name="sessionid")
    page.locator("#judge-submit").click()
    expect(page.locator("#judge-outbox")).to_contain_text("You have been signed out.")

    sign_in(page, alice)
    page.reload()
    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    assert Judgement.objects.count() == 1


def test_reload_brings_back_what_was_heard_and_filled_in(judging):
    page = judging
    hear_quickly(page)
    judge_by_mouse(page)
    page.locator("#judge-comment-button").click()
    page.locator("#judge-comment").fill("half a thought")
    expect(page.locator("#judge-saved")).to_contain_text("draft saved")
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    page.go_back()

    expect(page.locator(".clip.is-heard")).to_have_count(8)
    expect(page.locator('[data-letter="D"] input[value="3"]')).to_be_checked()
    expect(page.locator('input[value="keep"]')).to_be_checked()
    expect(page.locator("#judge-comment")).to_have_value("half a thought")
    assert Assignment.objects.get().draft["comment"] == "half a thought"


def test_skip_gives_the_item_back_and_goes_on(judging):
    page = judging
    first = Assignment.objects.get()
    page.keyboard.press("s")

    expect(page.locator("#judge-news")).to_contain_text("Skipped.")
    first.refresh_from_db()
    assert first.state == "released"
    assert Assignment.objects.filter(state="active").count() == 1


def test_reject_wants_a_reason_and_no_grades(judging):
    page = judging
    hear_quickly(page)
    page.keyboard.press("r")
    expect(page.locator("#judge-submit-text")).to_have_text("Choose a reason")
    page.locator(".judge-reason input").first.check()
    page.locator("#judge-submit").click()

    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    judgement = Judgement.objects.get()
    assert judgement.verdict == "reject"
    assert len(judgement.reasons) == 1


def test_expired_addresses_are_said_in_words(alice_page, round_, console, settings):
    page = alice_page()
    settings.MEDIA_TOKEN_SECONDS = -1
    page.goto(f"/judge/{round_.uid}/")

    expect(page.locator(".clip-message").first).to_contain_text("This page has been open too long")
    assert all("404" in line for line in console)
    console.clear()


def test_next_item_is_there_at_once(judging):
    page = judging
    hear_quickly(page)
    judge_by_mouse(page)
    took = page.evaluate(
        """async () => {
            const began = performance.now();
            const place = document.getElementById("judge-item");
            const swapped = new Promise((done) => new MutationObserver(done).observe(place, { childList: true }));
            document.getElementById("judge-submit").click();
            await swapped;
            return performance.now() - began;
        }"""
    )

    assert took < 1_000
    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")


@pytest.mark.parametrize("width", [360, 1440])
def test_judging_page_fits_and_passes_axe(alice_page, round_, axe_check, width):
    page = alice_page(viewport={"width": width, "height": 800})
    page.goto(f"/judge/{round_.uid}/")
    expect(page.locator(".clip.is-ready")).to_have_count(8)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    axe_check(page)


def test_exam_from_instructions_to_the_end(alice_page, axe_check):
    study = speecheq_study(items=1, name="exam-en")
    voice()
    page = alice_page()
    page.goto("/")
    page.evaluate(
        """(address) => {
            const form = document.createElement("form");
            form.method = "post";
            form.action = address;
            const field = document.createElement("input");
            field.name = "csrfmiddlewaretoken";
            field.value = JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
            form.append(field);
            document.body.append(form);
            form.submit();
        }""",
        f"/studies/{study.uid}/sit/",
    )
    page.get_by_role("button", name="Begin").click()
    while page.locator("#sit-form").count():
        expect(page.locator(".clip.is-ready").first).to_be_visible()
        number = Response.objects.count()
        expect(page.locator('input[name="answer"]').first).to_be_disabled()
        axe_check(page)
        hear_everything(page, "#sit-question")
        page.keyboard.press("1")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        expect(page.locator("#sit-form [data-letter] .clip.is-heard")).to_have_count(0)
        assert Response.objects.count() == number + 1

    expect(page.locator(".sit-finished")).to_contain_text("You have finished")
    assert Sitting.objects.get().state == "finished"
    first = Response.objects.first()
    assert first.raw == '{"answer": "B"}'
    assert first.paradata["changes"] == 1
    assert first.paradata["first_play_at"] > first.paradata["shown_at"]
    assert sum(first.paradata["plays"].values()) >= 2
    assert first.created <= timezone.now()


def test_exam_answer_survives_a_lost_connection(alice_page, alice, console):
    study = emosbench_study(items=1)
    voice()
    page = alice_page()
    sitting = Sitting.objects.create(
        respondent=study.respondents.create(name="Person 1", kind="person", user=alice), order_seed=1
    )
    page.goto(f"/sit/{sitting.uid}/")
    page.get_by_role("button", name="Begin").click()
    expect(page.locator(".clip.is-ready").first).to_be_visible()
    hear_everything(page, "#sit-question")
    page.locator(".judge-grade", has_text="4").click()
    page.context.set_offline(True)
    page.locator("#sit-submit").click()
    expect(page.locator("#sit-outbox")).to_contain_text("Not saved yet: 1 answer waits here.")
    page.context.set_offline(False)

    expect(page.locator("#sit-outbox")).to_be_empty()
    expect(page.locator(".clip.is-ready").first).to_be_visible()
    assert Response.objects.get().raw == '{"answer": 4}'
    console.clear()
