"""Every state of the judging page fits a phone and a desk, in both languages, light and dark, and axe finds nothing grave."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import GuidelineExample, Participation
from annotation.selectors import queue_state
from annotation.services import assignment_next
from annotation.views import judging
from generation.models import Variant
from tests.annotation.factories import judged_round, round_with, submit
from tests.e2e.sounds import voice
from tests.eqstudio.factories import annotator, researcher
from tests.generation.factories import CorpusFactory, speecheq_dialogue

pytestmark = pytest.mark.django_db(transaction=True)

QUESTIONS = {"confidence": True, "emotion": True, "naturalness": True}


@pytest.fixture
def rich(db):
    """A round that asks everything, with guidelines and a worked example for two grades."""
    made = round_with(
        items=2, name="arena", gate_share=0.0, questions=QUESTIONS, guidelines="Listen to all.\n\nThen grade."
    )
    example = speecheq_dialogue(corpus=CorpusFactory())
    voice(0.5)
    for grade, variant in zip((1, 4), Variant.objects.filter(turn__dialogue=example, turn__position=4), strict=True):
        GuidelineExample.objects.create(round=made, variant=variant, grade=grade, why="The pause before the word.")
    return made


LOOKS = [
    pytest.param(({"viewport": {"width": 1440, "height": 900}}, "en"), id="desk"),
    pytest.param(({"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"}, "zh-hans"), id="desk-dark-zh"),
    pytest.param(({"viewport": {"width": 360, "height": 800}, "has_touch": True}, "zh-hans"), id="phone-zh"),
    pytest.param(({"viewport": {"width": 360, "height": 800}, "color_scheme": "dark"}, "en"), id="phone-dark"),
]


@pytest.mark.parametrize("look", LOOKS)
def test_every_part_of_the_item_fits_and_passes_axe(alice_page, alice, rich, axe_check, look):
    options, alice.language = look
    alice.save(update_fields=["language"])
    page = alice_page(**options)
    width = options["viewport"]["width"]
    page.goto(f"/judge/{rich.uid}/")
    expect(page.locator(".clip.is-ready")).to_have_count(10)

    def check() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        axe_check(page)

    check()
    page.locator("[data-example]").first.click()
    expect(page.locator(".judge-examples .clip.is-playing")).to_have_count(1)
    page.keyboard.press("r")
    page.keyboard.press("7")
    page.keyboard.press("m")
    check()
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    check()
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    check()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("dialog[open] kbd").first).to_be_visible()
    check()


def test_a_phone_has_four_grades_of_48_pixels_across_and_the_decision_in_reach(alice_page, rich):
    page = alice_page(viewport={"width": 360, "height": 740}, has_touch=True)
    page.goto(f"/judge/{rich.uid}/")
    expect(page.locator(".clip.is-ready")).to_have_count(10)
    boxes = [grade.bounding_box() for grade in page.locator('[data-letter="A"] .judge-grade').all()]
    slot = page.locator('[data-letter="A"]').bounding_box()
    submit_box = page.locator("#judge-submit").bounding_box()

    assert all(box["height"] >= 48 and box["width"] >= 48 for box in boxes)
    assert sum(box["width"] for box in boxes) == pytest.approx(slot["width"], abs=2)
    assert submit_box["y"] + submit_box["height"] <= 740


KINDS = [
    ("reserved", ""),
    ("done", ""),
    ("paused", ""),
    ("closed", ""),
    ("not_open", ""),
    ("limit_person", ""),
    ("limit_day", ""),
    ("sitting_break", ""),
    ("person_paused", "gold_low"),
    ("not_qualified", "qualification"),
    ("not_eligible", "skill"),
    ("not_eligible", "language"),
    ("not_eligible", "invited"),
    ("training", ""),
    ("qualifying", ""),
]


STANDS = {"person_paused": "paused", "not_qualified": "unqualified"}


def test_each_reason_for_an_empty_queue_has_words_of_its_own(alice_page, alice, monkeypatch, axe_check):
    """The queue says why; here each answer it can give is put in its place, and the page has to word it."""
    made = round_with(items=1, people_per_item=1, agree_needed=1)
    submit(assignment_next(round=made, annotator=alice, now=timezone.now()))
    state = queue_state(round=made, annotator=alice, now=timezone.now())
    page, said = alice_page(viewport={"width": 360, "height": 740}), set()
    for kind, reason in KINDS:
        until = timezone.now() + timedelta(hours=1)
        told = replace(state, kind=kind, until=until)
        object.__setattr__(told, "reason", reason)
        place = Participation.objects.filter(round=made, annotator=alice)
        place.update(state=STANDS.get(kind, "active"), reason=reason if kind in STANDS else "")
        monkeypatch.setattr(judging, "queue_state", lambda told=told, **_: told)
        page.goto(f"/judge/{made.uid}/")
        expect(page.locator(".judge-done")).to_have_attribute("data-kind", kind)
        said.add(page.locator(".judge-done").inner_text().partition("Judged by you")[0])
    axe_check(page)

    assert len(said) == len(KINDS)


def test_the_history_fits_and_passes_axe(alice_page, alice, axe_check):
    judged_round(items=2, verdicts=("keep", "reject"), grades=(3, 2), people=None, show_feedback=True, undo_seconds=0)
    mine = round_with(
        items=3, questions=QUESTIONS, undo_seconds=0, show_feedback=True, people_per_item=1, agree_needed=1
    )
    answers = {"confidence": 2, "emotion": "sad", "naturalness": 4}
    while found := assignment_next(round=mine, annotator=alice, now=timezone.now()):
        submit(found, answers=answers, comment="a long comment that has to be broken somewhere " * 3)
    for width in (360, 1440):
        page = alice_page(viewport={"width": width, "height": 800})
        page.goto("/my-judgements/")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        axe_check(page)
        page.locator("#id_state").select_option("replaced")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.locator(".empty")).to_contain_text("Nothing fits these filters")


@pytest.mark.parametrize("width", [360, 1440])
def test_what_the_page_says_is_in_view_however_far_down_one_is(alice_page, rich, width):
    page = alice_page(viewport={"width": width, "height": 700})
    page.goto(f"/judge/{rich.uid}/")
    expect(page.locator(".clip.is-ready")).to_have_count(10)
    page.locator('input[value="reject"]').locator("..").click()
    page.locator("#judge-reasons").scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.locator("[data-opens=judge-skip-panel]").click()
    page.locator('[data-skip-to="unjudgeable"]').click()

    expect(page.locator("#judge-news")).to_contain_text("Say why")
    expect(page.locator("#judge-news")).to_be_in_viewport(ratio=1)
    assert page.evaluate("scrollY") > 100


def test_my_judgements_and_tabs_fit_a_phone(alice_page, alice, new_page, sign_in, axe_check):
    made = judged_round(items=1, people=[alice, annotator(), annotator()])
    page = alice_page(viewport={"width": 360, "height": 800})
    page.goto("/my-judgements/")

    expect(page.get_by_role("link", name="Change")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".judge-history").evaluate("it => it.scrollWidth <= it.clientWidth")
    axe_check(page)

    lead = new_page(viewport={"width": 360, "height": 800})
    sign_in(lead, researcher())
    lead.goto(f"/rounds/{made.uid}/settings/")
    expect(lead.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.95)
