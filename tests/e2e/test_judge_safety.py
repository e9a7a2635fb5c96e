"""Nothing that a judge has said is lost or stored twice: kills, lost sessions, lost connections, reloads, races."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Assignment, GoldAnswer, Judgement
from annotation.selectors import live_judgements
from annotation.services import assignment_next
from tests.annotation.factories import lease, round_with, submit
from tests.e2e.server import ServerProcess
from tests.e2e.sounds import voice
from tests.e2e.studio import until
from tests.eqstudio.factories import annotator
from tests.generation.factories import echomind_dialogue

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def round_(db):
    return round_with(items=2, name="safe", gate_share=0.0)


@pytest.fixture
def judging(alice_page, round_):
    page = alice_page()
    page.goto(f"/judge/{round_.uid}/")
    expect(page.locator(".clip.is-ready")).to_have_count(8)
    return page


def answer(page, letters="ABCD") -> None:
    for letter in letters:
        page.keyboard.press(letter.lower())
        page.keyboard.press("3")
    page.keyboard.press("k")


def test_one_submit_by_double_click_which_undo_takes_back(judging):
    page = judging
    answer(page)
    page.locator("#judge-submit").dblclick()
    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    assert Judgement.objects.count() == 1
    page.keyboard.press("z")

    expect(page.locator("#judge-news")).to_contain_text("taken back")
    expect(page.locator('[data-letter="A"] input[value="3"]')).to_be_checked()
    expect(page.locator("#judge-submit-text")).to_have_text("Submit")
    assert Judgement.objects.filter(retracted=True).count() == 1


def test_two_tabs_with_one_item_tell_that_the_second_answer_is_not_saved(judging, console):
    first = judging
    first.keyboard.press("a")
    first.keyboard.press("3")
    expect(first.locator("#judge-saved")).to_contain_text("draft saved")
    second = first.context.new_page()
    second.goto(first.url)
    expect(second.locator('[data-letter="A"] input[value="3"]')).to_be_checked()
    answer(first)
    first.keyboard.press("Enter")
    expect(first.locator(".judge-count")).to_have_text("item 2 of 2")
    answer(second)
    second.keyboard.press("a")
    second.keyboard.press("1")
    second.keyboard.press("Enter")

    expect(second.locator("#judge-news")).to_contain_text("Not saved. You have judged this item already")
    expect(second.locator("#judge-news a")).to_have_attribute("href", "/my-judgements/")
    assert set(Judgement.objects.get().grades.values_list("value", flat=True)) == {3}
    second.locator("#judge-news button").click()
    expect(second.locator(".judge-count")).to_have_text("item 2 of 2")
    assert all("409" in line or "404" in line for line in console)
    console.clear()


def test_offline_keeps_the_judgement_and_sends_it_later(judging, console):
    page = judging
    answer(page)
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    expect(page.locator("#judge-outbox")).to_contain_text("Not saved yet: 1 answer waits here.")
    assert Judgement.objects.count() == 0
    page.context.set_offline(False)

    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    expect(page.locator("#judge-outbox")).to_be_empty()
    assert Judgement.objects.count() == 1
    assert all("ERR_INTERNET_DISCONNECTED" in line for line in console)
    console.clear()


def test_a_reply_that_breaks_off_half_way_is_asked_for_again_and_stored_once(judging):
    page, replies = judging, []

    def break_off(route):
        reply = route.fetch()
        replies.append(reply.status)
        route.fulfill(response=reply, body=reply.text()[:40] if len(replies) == 1 else None)

    page.route("**/submit/", break_off)
    answer(page)
    page.keyboard.press("Enter")
    expect(page.locator("#judge-outbox")).to_contain_text("Not saved yet: 1 answer waits here.")

    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    expect(page.locator("#judge-outbox")).to_be_empty()
    assert replies == [200, 200]
    assert Judgement.objects.count() == 1


def test_an_answer_that_the_page_fails_to_send_is_tried_again(judging, console):
    page = judging
    page.evaluate(
        "() => { const send = fetch; window.fetch = () => { window.fetch = send; throw new RangeError('no'); }; }"
    )
    answer(page)
    page.keyboard.press("Enter")

    expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
    assert Judgement.objects.count() == 1
    assert all("RangeError" in line or "uncaught" in line for line in console)
    console.clear()


def test_lost_session_keeps_the_judgement_through_sign_in_and_a_closed_tab(judging, sign_in, alice):
    page = judging
    answer(page)
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.keyboard.press("Enter")
    expect(page.locator("#judge-outbox")).to_contain_text("You have been signed out.")
    address = page.url
    other = page.context.new_page()
    page.close()
    sign_in(other, alice)
    other.goto(address)

    expect(other.locator(".judge-count")).to_have_text("item 2 of 2")
    expect(other.locator("#judge-outbox")).to_be_empty()
    assert Judgement.objects.count() == 1


def test_reload_brings_back_what_was_heard_and_filled_in(alice_page):
    round_ = round_with(
        items=1, questions={"confidence": True, "emotion": True}, make=echomind_dialogue, benchmark="echomind"
    )
    voice(0.2)
    page = alice_page()
    page.goto(f"/judge/{round_.uid}/")
    page.keyboard.press("p")
    expect(page.locator(".judge-lines .clip.is-heard")).to_have_count(3)
    answer(page, "ABC")
    page.locator('input[name="answer-confidence"]').first.focus()
    page.keyboard.press("3")
    page.locator('input[name="answer-emotion"][value="sad"]').locator("..").click()
    page.locator("#judge-comment-button").click()
    with page.expect_response(lambda response: "half a thought" in (response.request.post_data or "")):
        page.locator("#judge-comment").fill("half a thought")
    expect(page.locator("#judge-saved")).to_contain_text("draft saved")
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    page.go_back()

    expect(page.locator(".judge-lines .clip.is-heard")).to_have_count(3)
    expect(page.locator('[data-letter="C"] input[value="3"]')).to_be_checked()
    expect(page.locator('input[value="keep"]')).to_be_checked()
    expect(page.locator("#judge-comment")).to_have_value("half a thought")
    expect(page.locator("#judge-submit-text")).to_have_text("Submit")
    page.keyboard.press("Enter")
    expect(page.locator(".judge-done")).to_be_visible()
    assert Judgement.objects.get().answers == {"confidence": 3, "emotion": "sad"}


def test_leaving_with_nothing_entered_gives_the_item_to_others_soon(judging):
    page = judging
    page.goto("/my-judgements/")
    assert until(lambda: Assignment.objects.get().lease_until < timezone.now() + timedelta(seconds=61), 20)
    page.go_back()

    expect(page.locator(".judge-count")).to_have_text("item 1 of 2")
    assert until(lambda: Assignment.objects.get().lease_until > timezone.now() + timedelta(minutes=15), 20)


def test_two_browsers_that_race_for_the_last_item_end_with_one_judgement(alice_page, new_page, sign_in):
    made = round_with(items=1, people_per_item=1, agree_needed=1, gate_share=0.0)
    first, second = alice_page(), new_page()
    sign_in(second, annotator(username="bob"))
    first.goto(f"/judge/{made.uid}/")
    answer(first)
    second.goto(f"/judge/{made.uid}/")
    expect(second.locator(".judge-done")).to_have_attribute("data-kind", "reserved")
    Assignment.objects.update(lease_until=timezone.now())
    second.locator("#judge-look").click()
    expect(second.locator(".clip.is-ready")).to_have_count(8)
    answer(second)
    expect(second.locator("#judge-submit-text")).to_have_text("Submit")
    for page in (first, second):
        page.evaluate("setTimeout(() => document.getElementById('judge-submit').click(), 200)")
    for page in (first, second):
        expect(page.locator(".judge-done")).to_be_visible()

    assert Judgement.objects.count() == 2
    assert live_judgements(round=made).count() == 1


def test_a_judgement_is_changed_from_the_history(alice_page, alice, round_):
    first = submit(assignment_next(round=round_, annotator=alice, now=timezone.now()), grade=2)
    page = alice_page()
    page.goto("/my-judgements/")
    page.get_by_role("link", name="Change", exact=True).click()
    expect(page.locator('[data-letter="A"] input[value="2"]')).to_be_checked()
    page.wait_for_load_state()  # from then on the page hears the keys
    page.keyboard.press("a")
    page.keyboard.press("4")
    expect(page.locator("#judge-submit-text")).to_have_text("Save the change")
    page.keyboard.press("Enter")

    expect(page.locator(".chip", has_text="replaced by a change")).to_be_visible()
    revised = live_judgements(round=round_).get()
    assert revised.revision == first.revision + 1
    assert sorted(revised.grades.values_list("value", flat=True)) == [2, 2, 2, 4]


def test_training_tells_what_was_expected_before_the_next_item(alice_page, alice, round_, axe_check):
    found = lease(round_, alice)
    Assignment.objects.filter(pk=found.pk).update(kind="training")
    found.item.kind = "training"
    found.item.save(update_fields=["kind"])
    uid = found.shown["4"][0]
    GoldAnswer.objects.create(item=found.item, verdict="keep", grades={uid: 1}, explanation="The sigh gives it away.")
    page = alice_page()
    page.goto(f"/judge/{round_.uid}/")
    answer(page)
    page.keyboard.press("Enter")

    expect(page.locator(".judge-told")).to_contain_text("you gave 3, expected 1")
    expect(page.locator(".judge-told")).to_contain_text("The sigh gives it away.")
    expect(page.locator("#judge-submit-text")).to_have_text("Next item")
    axe_check(page)
    page.keyboard.press("Enter")
    expect(page.locator(".judge-told")).to_have_count(0)
    expect(page.locator("#judge-submit-text")).not_to_have_text("Next item")


def test_sigkill_of_the_server_loses_nothing(new_page, sign_in, alice, round_, console):
    """The server dies while an item is graded; it comes back, and so does the answer, once."""
    server = ServerProcess()
    page = new_page(base_url=server.address)
    sign_in(page, alice)
    try:
        server.start()
        page.goto(f"/judge/{round_.uid}/")
        expect(page.locator(".clip.is-ready")).to_have_count(8)
        answer(page, "AB")
        server.kill()
        answer(page)
        page.keyboard.press("Enter")
        expect(page.locator("#judge-outbox")).to_contain_text("Not saved yet: 1 answer waits here.")
        assert Judgement.objects.count() == 0
        server.start()
        page.get_by_role("button", name="Send now").click()
        expect(page.locator(".judge-count")).to_have_text("item 2 of 2")
        expect(page.locator("#judge-outbox")).to_be_empty()
    finally:
        page.close()
        server.kill()

    assert Judgement.objects.get().grades.count() == 4
    assert all("net::ERR_" in line for line in console)
    console.clear()
