"""Imports, reasons and replies in a browser: by keyboard, on a phone, in both languages, clean to axe."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from evaluation.models import Panel, RatingSheet, RationaleRating, ReplyGrade, ReplyJudgement
from evaluation.services import responses_import
from evaluation.services.arenas import arena_create, panel_next, panel_rate
from evaluation.services.judging import judge_advance, judge_create
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import echomind_study, right_answer, speecheq_study, wrong_answer
from tests.evaluation.test_arena import NOW, answered, heard
from tests.evaluation.test_imports import RUNS, response, result
from tests.evaluation.test_judging import judge_all, replied, worth

pytestmark = pytest.mark.django_db(transaction=True)
LONG = "{name}: the first voice is slow and low, as somebody speaks who takes the other one's news in; the second is quick and bright."
CHANGED = """async (before) => {
    const end = performance.now() + 20_000;
    while (document.getElementById("scales-data")?.textContent === before) {
        if (performance.now() > end) throw new Error("no other sheet after 20 s");
        await new Promise((done) => setTimeout(done, 20));
    }
}"""
"""Waits until the next sheet is there, 20 s at most. (What Playwright waits for itself, it compiles in the page, whose policy forbids that.)"""


@pytest.fixture
def arena():
    study = speecheq_study(items=3)
    systems = [
        answered(study, f"model-{place}", choose, LONG.format(name="It sounds warm"))
        for place, choose in enumerate((right_answer, wrong_answer, right_answer))
    ]
    return arena_create(study=study, name="reasons", respondents=systems, per_panel=3, wanted=4)


@pytest.fixture
def replies():
    study = echomind_study(items=3)
    replied(study, "warm")
    replied(study, "cold", "Noted.")
    return study


def rated(arena):
    for number in range(3):
        user = annotator(username=f"rater{number}")
        while (panel := panel_next(arena=arena, user=user, now=NOW)) is not None:
            values = {str(place): 3 + (place * 2 + number + panel.pk) % 7 for place in range(3)}
            panel_rate(panel=panel, values=values, client_key="k", heard=heard(panel))


def imported(tmp_path):
    study = speecheq_study(items=2)
    items = [row.dialogue.uid for row in study.split.items.select_related("dialogue")]
    odd = result("option2", "option2", '{"selected": "option1"}')
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"responses": [response(item, [*RUNS[:2], odd], RUNS) for item in items]}))
    responses_import(study=study, path=path, format="speecheq", name="theirs")
    return study


def hear_all(page):
    """Say of every clip that it was played to its end, as the player says it."""
    page.evaluate(
        """async () => {
          const { clipsIn } = await import(document.querySelector('script[src*="scales"]').src.replace(/evaluation\\/js\\/scales.*$/, "eqstudio/js/listen.js"));
          for (const clip of clipsIn(document)) {
            clip.restore([[0, clip.duration]]);
            clip.element.dispatchEvent(new CustomEvent("clip:progress", { bubbles: true, detail: { id: clip.id, heard: [[0, clip.duration]], plays: 1, playing: false } }));
          }
        }"""
    )


def shot(page, name, width):
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)


def test_reasons_are_rated_by_keyboard_alone(page, sign_in, arena):
    person = annotator()
    sign_in(page, person)
    page.goto(reverse("arena_rate", args=[arena.uid]))
    first = page.locator("#scales-data").inner_text()
    submit = page.locator("#scales-submit")
    assert submit.get_attribute("aria-disabled") == "true"
    hear_all(page)
    page.locator("body").press("8")
    for key in ("0", "3"):
        page.keyboard.press(key)
    expect(page.locator("#scales-submit")).to_have_attribute("aria-disabled", "false")
    page.keyboard.press("Enter")
    page.evaluate(CHANGED, first)
    panel = Panel.objects.get(state="rated")
    given = dict(RationaleRating.objects.values_list("respondent", "value"))
    assert [given[one.respondent_id] for one in panel.systems.all()] == [8, 10, 3]
    assert RatingSheet.objects.get().heard


def test_what_was_entered_waits_for_the_connection_and_survives_a_reload(page, sign_in, arena, console):
    sign_in(page, annotator())
    page.goto(reverse("arena_rate", args=[arena.uid]))
    hear_all(page)
    for key in ("7", "5"):
        page.keyboard.press(key)
    page.reload()
    page.wait_for_selector("#scales-form input:checked")
    assert page.locator("#scales-form input:checked").count() == 2
    page.context.set_offline(True)
    page.keyboard.press("4")
    expect(page.locator("#scales-submit")).to_have_attribute("aria-disabled", "false")
    page.keyboard.press("Enter")
    page.wait_for_selector("#scales-outbox .notice")
    assert not RatingSheet.objects.exists()
    page.context.set_offline(False)
    page.wait_for_selector("#scales-outbox .notice", state="detached")
    assert RatingSheet.objects.count() == 1
    console.clear()


def test_a_reply_is_judged_by_keyboard_alone(page, sign_in, replies):
    person = annotator()
    sign_in(page, person)
    page.goto(reverse("reply_rate", args=[replies.uid]))
    first = page.locator("#scales-data").inner_text()
    hear_all(page)
    for key in ("5", "4", "3", "2"):
        page.keyboard.press(key)
    expect(page.locator("#scales-submit")).to_have_attribute("aria-disabled", "false")
    page.keyboard.press("Enter")
    page.evaluate(CHANGED, first)
    assert ReplyJudgement.objects.get().user == person
    assert list(ReplyGrade.objects.order_by("pk").values_list("value", flat=True)) == [5, 4, 3, 2]


@pytest.mark.parametrize(("width", "locale"), [(1440, "en-US"), (360, "zh-CN")])
def test_pages_fit_and_are_clean(*, new_page, sign_in, axe_check, arena, replies, tmp_path, width, locale):
    study = imported(tmp_path)
    rated(arena)
    for number in range(2):
        judge_all(replies, annotator(username=f"judge{number}"), worth)
    for judge in judge_create(study=replies, backend="random"):
        judge_advance(judge=judge)
    addresses = {
        "imports": reverse("answer_imports", args=[study.uid]),
        "readings": reverse("comparison", args=[study.uid]),
        "item": reverse("comparison_item", args=[study.uid, study.split.items.first().dialogue.uid]),
        "arenas": reverse("arenas", args=[arena.study.uid]),
        "arena": reverse("arena", args=[arena.uid]),
        "arena-rate": reverse("arena_rate", args=[arena.uid]),
        "replies": reverse("replies", args=[replies.uid]),
        "reply-rate": reverse("reply_rate", args=[replies.uid]),
        "replies-comparison": reverse("comparison", args=[replies.uid]),
    }
    page = new_page(viewport={"width": width, "height": 900}, locale=locale)
    user = researcher()
    user.language = "zh-hans" if locale.startswith("zh") else "en"
    user.save(update_fields=["language"])
    sign_in(page, user)
    page.set_default_navigation_timeout(30_000)
    for name, address in addresses.items():
        page.goto(address)
        page.wait_for_load_state("networkidle")
        axe_check(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        shot(page, f"{name}-{locale[:2]}", width)
