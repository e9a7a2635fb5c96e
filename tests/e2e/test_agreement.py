"""Agreement and disputes in a browser: decided by keyboard, live without a reload, readable by a phone and by axe."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import RoundItem
from annotation.services import assignment_next, ratings_import, round_top_up
from tests.annotation.factories import judged_round, submit
from tests.eqstudio import factories
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db(transaction=True)
SIZES = {"phone": {"width": 360, "height": 800}, "desk": {"width": 1440, "height": 900}}


@pytest.fixture
def made(transactional_db):
    people = [factories.annotator(username=name) for name in ("ann", "bob", "cid", "dee")]
    found = judged_round(items=3, verdicts=("keep", "reject", "keep", "reject"), grades=(4, 1, 3, 2), people=people)
    ratings_import(
        round=found.name, name="x.csv", data=b"item,rater,value\n1,eva,2\n1,gpt,3\n2,eva,4\n2,gpt,4\n", machines=["gpt"]
    )
    return found


@pytest.fixture
def page_of(new_page, sign_in):
    def open_page(**options) -> Page:
        page = new_page(**options)
        sign_in(page, factories.researcher(username="rita"))
        return page

    return open_page


def seen(page: Page, name: str) -> None:
    """Keep a picture where somebody wants to look (SHOTS names a folder)."""
    if folder := os.environ.get("SHOTS"):
        Path(folder).mkdir(exist_ok=True, parents=True)
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def arrived(page: Page, item: RoundItem) -> None:
    """The page of this item is there, and its keys work."""
    expect(page).to_have_url(re.compile(item.uid))
    page.wait_for_load_state("load")


@pytest.mark.parametrize("size", SIZES)
def test_pages_of_a_round_fit_and_pass_axe(page_of, made, size, axe_check):
    page = page_of(viewport=SIZES[size])
    item = made.items.first()
    addresses = {
        "round": reverse("round", args=[made.uid]),
        "agreement": reverse("round_agreement", args=[made.uid]) + "?question=grade&by=annotator",
        "verdict": reverse("round_agreement", args=[made.uid]) + "?question=verdict",
        "items": reverse("round_items", args=[made.uid]),
        "import": reverse("round_import", args=[made.uid]),
        "disputes": reverse("disputes"),
        "item": reverse("adjudicate", args=[item.uid]),
    }
    for name, address in addresses.items():
        page.goto(address)
        if name in ("agreement", "verdict"):
            expect(page.locator(".matrix")).to_be_visible()
        if name == "round":
            chart = page.locator(".chart")
            chart.scroll_into_view_if_needed()
            drawn = (
                "async () => { const i = document.querySelector('.chart'); await i.decode(); return i.naturalWidth }"
            )
            assert page.evaluate(drawn) > 100
        seen(page, f"{name}-{size}")
        axe_check(page)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, name


def test_disputes_are_decided_by_keyboard_one_after_the_other(page_of, made):
    page = page_of()
    first, second, third = made.items.order_by("closed_at", "pk")
    page.goto(f"{reverse('disputes')}?round={made.uid}")
    page.get_by_role("link", name="Begin with the first").press("Enter")
    arrived(page, first)

    page.keyboard.press("r")
    page.keyboard.press("c")
    page.keyboard.type("keep k and r out of this")
    page.keyboard.press("Control+Enter")

    arrived(page, second)
    page.keyboard.press("n")
    arrived(page, third)
    page.keyboard.press("k")
    page.keyboard.press("c")
    page.keyboard.type("clear enough")
    page.keyboard.press("Control+Enter")
    arrived(page, second)
    outcomes = dict(RoundItem.objects.values_list("uid", "outcome"))
    assert (outcomes[first.uid], outcomes[second.uid], outcomes[third.uid]) == ("rejected", "disputed", "kept")


def test_the_dashboard_follows_a_submit_without_a_reload(page_of, made):
    speecheq_dialogue(corpus=made.corpus)
    round_top_up(round=made)
    page = page_of()
    page.goto(reverse("round", args=[made.uid]))
    expect(page.locator(".stats dd").first).to_have_text("12 / 16")

    submit(assignment_next(round=made, annotator=factories.annotator(), now=timezone.now()))

    expect(page.locator(".stats dd").first).to_have_text("13 / 16")


def test_a_file_is_looked_at_and_then_taken(page_of, made, tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater,value\n7,eva,2\n,eva,2\n")
    page = page_of()
    page.goto(reverse("round_import", args=[made.uid]))
    page.get_by_label("File").set_input_files(path)

    page.get_by_role("button", name="Look first").click()
    expect(page.locator("#import-preview")).to_contain_text("row 3: item is empty")
    assert made.imported_ratings.count() == 4
    page.get_by_role("button", name="Import").click()

    expect(page.get_by_role("status")).to_contain_text("1 ratings stored")
    assert made.imported_ratings.count() == 5
