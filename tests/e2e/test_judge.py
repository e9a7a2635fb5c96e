"""Judging in a real browser with real sound: the gate, the keys, switching, repeating, fetching ahead."""

import itertools
import re
import time

import pytest
from django.core.files.storage import default_storage
from playwright.sync_api import expect

from annotation.models import Assignment, AudioProblem, Flag, Judgement
from eqstudio.blobs import blob_key
from generation.models import Variant
from tests.annotation.factories import round_with
from tests.e2e.sounds import voice
from tests.generation.factories import echomind_dialogue

pytestmark = pytest.mark.django_db(transaction=True)

WATCH = """(letters) => {
    const [a, b] = letters.map((letter) => document.querySelector(`[data-letter="${letter}"] .clip`).player.audio);
    window.seen = [];
    const look = () => {
        window.seen.push([performance.now() / 1000, ...[a, b].flatMap((x) => [!x.paused && !x.muted, x.currentTime])]);
        if (window.seen.length < 4000) setTimeout(look, 1);
    };
    look();
}"""
"""Sample both sounds of a pair about every millisecond: [seconds, A audible, A's place, B audible, B's place]."""


AUDIBLE = """async (letter) => {
    const audio = document.querySelector(`[data-letter="${letter}"] .clip`).player.audio;
    const end = performance.now() + 5_000;
    while (audio.paused || audio.muted) {
        if (performance.now() > end) throw new Error(`${letter} is not heard after 5 s`);
        await new Promise((done) => setTimeout(done, 5));
    }
}"""
"""A key pressed before the last switch is through switches back, unseen: wait until the named sound is heard."""


UNTIL = """async ([selector, number]) => {
    const end = performance.now() + 20_000;
    while (document.querySelectorAll(selector).length < number) {
        if (performance.now() > end) throw new Error(`not ${number} of ${selector} after 20 s`);
        await new Promise((done) => setTimeout(done, 10));
    }
}"""
"""Looks more often than Playwright does, for 20 s at most."""


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


def test_grades_unlock_only_after_listening(judging):
    page = judging
    slot = page.locator('[data-letter="A"]')
    expect(slot.locator("input").first).to_be_disabled()
    expect(page.locator("#judge-submit-text")).to_have_text("Hear 1 Speaker1")
    page.keyboard.press("a")
    page.keyboard.press("3")
    expect(page.locator("#judge-news")).to_have_text("Hear A")
    slot.locator(".clip-wave").click()
    page.keyboard.press("Space")
    expect(slot.locator(".clip-heard")).to_have_text(re.compile(r"^[45]\d % heard$"))
    expect(slot.locator(".clip")).not_to_have_class(re.compile("is-playing"))
    expect(slot.locator("input").first).to_be_disabled()
    page.keyboard.press("Home")
    page.keyboard.press("Space")

    expect(slot.locator(".clip-heard")).to_have_text("heard")
    expect(slot.locator("input").first).to_be_enabled()


def test_judging_by_keyboard_alone(judging, alice):
    """`p` plays everything in order; half of it heard, the next item's sounds come by themselves."""
    page = judging
    for _ in range(4):
        page.keyboard.press("]")
    page.keyboard.press("-")
    assert page.evaluate("document.querySelector('.clip').player.audio.volume") == pytest.approx(0.9)
    with page.expect_response(lambda answer: answer.url.endswith("/ahead/")) as ahead:
        page.keyboard.press("p")
        expect(page.locator("#judge-play-all")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".judge-lines .clip.is-heard")).to_have_count(8)
    expect(page.locator(".clip.is-playing")).to_have_count(0)
    for letter, grade in zip("abcd", "4231", strict=True):
        page.keyboard.press(letter)
        page.keyboard.press(grade)
    page.keyboard.press("m")
    page.keyboard.type("kr 1 z said aloud")
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(page.locator("#judge-submit-text")).to_have_text("Submit")
    page.keyboard.press("Enter")

    expect(page.locator("#judge-news")).to_contain_text("Judgement saved.")
    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    fetched = {clip["id"] for clip in ahead.value.json()["clips"]}
    used = (
        "[...document.querySelectorAll('.judge-lines .clip')].filter((x) => x.player.source).map((x) => x.dataset.clip)"
    )
    assert set(page.evaluate(used)) == fetched
    judgement = Judgement.objects.get()
    shown = judgement.assignment.shown
    grades = {grade.variant.uid: grade.value for grade in judgement.grades.all()}
    assert judgement.comment == "kr 1 z said aloud"
    assert [grades[uid] for uid in shown["4"] + shown["6"]] == [4, 2, 3, 1]
    assert judgement.active_ms > 0
    assert Flag.objects.count() == 0


@pytest.mark.parametrize("rate", [1, 2])
def test_x_switches_at_the_same_place_without_a_gap(alice_page, round_, rate):
    voice(6.0)
    page = alice_page()
    page.goto(f"/judge/{round_.uid}/")
    expect(page.locator(".clip.is-ready")).to_have_count(8)
    page.evaluate("rate => sessionStorage.setItem('eqstudio.rate', rate)", rate)
    page.reload()
    expect(page.locator(".clip.is-ready")).to_have_count(8)
    page.keyboard.press("a")
    page.keyboard.press("Space")
    expect(page.locator('[data-letter="A"] .clip')).to_have_class(re.compile("is-playing"))
    page.wait_for_timeout(500)
    page.evaluate(WATCH, ["A", "B"])
    for letter in "BAB":
        page.wait_for_timeout(250)
        page.keyboard.press("x")
        page.evaluate(AUDIBLE, letter)
    page.wait_for_timeout(250)
    page.keyboard.press("Space")
    assert page.evaluate("document.querySelector('[data-letter=A] .clip').player.audio.preservesPitch")

    seen = page.evaluate("seen")
    heard = [(at, a_place if a else b_place, "A" if a else "B") for at, a, a_place, b, b_place in seen if a or b]
    switches = [(one, two) for one, two in itertools.pairwise(heard) if one[2] != two[2]]
    assert len(switches) == 3
    for (t1, place1, _), (t2, place2, _) in switches:
        silent = [at for at, a, _, b, _ in seen if t1 < at < t2 and not (a or b)]
        assert t2 - min(silent, default=t2) < 0.05  # a page that was looked at late was not silent meanwhile
        # A busy machine lets two sounds drift by 0.1 s; one that began anew would be 0.5 s away.
        assert abs(place2 - place1 - rate * (t2 - t1)) < 0.2 * rate


def test_a_part_is_repeated_and_seeking_is_by_click_drag_and_keys(judging):
    page = judging
    page.keyboard.press("a")
    clip = page.locator('[data-letter="A"] .clip')
    place = "document.querySelector('[data-letter=A] .clip').player"
    box = clip.locator(".clip-wave").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 10)
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 10, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    assert page.evaluate(f"{place}.part") == pytest.approx([0.2, 0.5], abs=0.02)
    page.keyboard.press("Space")
    places = []
    for _ in range(20):
        places.append(page.evaluate(f"{place}.position"))
        time.sleep(0.05)
    page.keyboard.press("Space")
    assert min(places) > 0.15
    assert max(places) < 0.75
    assert any(later < earlier for earlier, later in itertools.pairwise(places))
    page.keyboard.press("l")
    assert page.evaluate(f"[{place}.part, {place}.audio.loop]") == [None, False]
    page.mouse.click(box["x"] + box["width"] * 0.75, box["y"] + 10)
    assert page.evaluate(f"{place}.position") == pytest.approx(0.75, abs=0.02)
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(f"{place}.position") == 0


def test_a_missing_sound_is_said_in_words_and_reported(judging, round_, console):
    page = judging
    slot = page.locator('[data-letter="A"]')
    variant = Variant.objects.get(uid=slot.get_attribute("data-uid"))
    default_storage.delete(blob_key(variant.clip.sha256))
    page.reload()
    expect(slot.locator(".clip-message")).to_contain_text("The sound of this clip is missing from the store")
    slot.get_by_role("button", name="Report a problem").click()
    expect(page.locator("#judge-problem-kind")).to_have_value("not_playing")
    page.get_by_role("button", name="Send it: the item cannot be judged").click()

    expect(page.locator("#judge-news")).to_contain_text("cannot be judged")
    problem = AudioProblem.objects.get()
    assert (problem.variant, problem.problem) == (variant, "not_playing")
    lease = Assignment.objects.get(item=problem.item)
    assert (lease.state, lease.skip) == ("released", "unjudgeable")
    assert all("410" in line for line in console)
    console.clear()


def test_expired_addresses_are_said_in_words(alice_page, round_, console, settings):
    page = alice_page()
    settings.MEDIA_TOKEN_SECONDS = -1
    page.goto(f"/judge/{round_.uid}/")

    expect(page.locator(".clip-message", has_text="This page has been open too long")).to_have_count(8)
    assert all("404" in line for line in console)
    console.clear()


def test_skip_asks_where_to_and_reject_takes_reasons_by_number(alice_page, round_):
    round_.gate_share = 0.0
    round_.save(update_fields=["gate_share"])
    page = alice_page()
    page.goto(f"/judge/{round_.uid}/")
    page.keyboard.press("s")
    page.keyboard.press("3")
    expect(page.locator("#judge-news")).to_have_text("Say why it cannot be judged.")
    page.keyboard.press("Escape")
    expect(page.locator("#judge-skip-panel")).to_be_hidden()
    page.keyboard.press("s")
    page.keyboard.press("1")
    expect(page.locator("#judge-news")).to_contain_text("Skipped. It comes back to you later.")
    assert Assignment.objects.get(state="released").skip == "me"
    page.keyboard.press("r")
    expect(page.locator("#judge-submit-text")).to_have_text("Choose a reason")
    page.keyboard.press("4")
    page.keyboard.press("7")
    expect(page.locator("#judge-submit-text")).to_have_text("Say the reason in the comment")
    page.keyboard.press("7")
    page.keyboard.press("Enter")

    expect(page.locator("#judge-news")).to_contain_text("Judgement saved.")
    judgement = Judgement.objects.get()
    assert (judgement.verdict, judgement.reasons) == ("reject", ["audio_fault"])


@pytest.mark.long
def test_fifty_items_by_keyboard_alone(alice_page):
    made = round_with(items=50, make=echomind_dialogue, benchmark="echomind", people_per_item=1, agree_needed=1)
    voice(0.15)
    page = alice_page()
    page.goto(f"/judge/{made.uid}/")
    page.evaluate("sessionStorage.setItem('eqstudio.rate', '2')")
    page.reload()
    for number in range(1, 51):
        expect(page.locator(".judge-count")).to_have_text(f"item {number} of 50")
        clips = page.locator(".judge-lines .clip").count()
        page.keyboard.press("p")
        page.evaluate(UNTIL, [".judge-lines .clip.is-heard", clips])
        for letter in page.locator("[data-letter]").evaluate_all("all => all.map((one) => one.dataset.letter)"):
            page.keyboard.press(letter.lower())
            page.keyboard.press("3")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
    expect(page.locator(".judge-done")).to_have_attribute("data-kind", "done")

    assert Judgement.objects.filter(grades__value=3).distinct().count() == 50


SKIP_OFTEN = """async ([times, html]) => {
    const real = window.fetch;
    const answer = () => new Response(html, { headers: { "Content-Type": "application/json" } });
    window.fetch = (url, options) => (String(url).endsWith("/skip/") ? Promise.resolve(answer()) : real(url, options));
    for (let time = 0; time < times; time += 1) {
        const place = document.getElementById("judge-item");
        const swapped = new Promise((done) => new MutationObserver(done).observe(place, { childList: true }));
        for (const key of ["s", "1"]) {
            document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        }
        await swapped;
        await new Promise((done) => setTimeout(done, 20));
    }
    window.fetch = real;
}"""


def test_two_hundred_items_in_one_tab_leave_nothing_behind(judging):
    """Skipping is answered with the same item again: what piles up is the page's own fault."""
    page = judging
    html = page.evaluate("address => fetch(address).then((answer) => answer.text())", f"{page.url}next/")
    session = page.context.new_cdp_session(page)

    def counters() -> dict[str, int]:
        session.send("HeapProfiler.collectGarbage")
        return session.send("Memory.getDOMCounters")

    page.evaluate(SKIP_OFTEN, [20, html])
    before = counters()
    page.evaluate(SKIP_OFTEN, [180, html])
    after = counters()

    expect(page.locator(".clip.is-ready")).to_have_count(8)
    assert after["nodes"] < 2 * before["nodes"]
    assert after["jsEventListeners"] < 2 * before["jsEventListeners"]
