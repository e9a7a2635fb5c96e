"""A split from recipe to public page in a real browser: counts that follow the form, audit, gates, versions."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Split
from tests.annotation.factories import judged_round

pytestmark = pytest.mark.django_db(transaction=True)

SIZES = ({"width": 1440, "height": 900}, {"width": 360, "height": 740})


def fits(page):
    """Nothing sticks out to the right."""
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.fixture
def ada_page(new_page, sign_in, ada):
    def open_page(**options):
        page = new_page(**options)
        sign_in(page, ada)
        return page

    return open_page


@pytest.mark.parametrize("size", SIZES, ids=["wide", "narrow"])
def test_a_split_is_frozen_audited_released_and_shown_to_anybody(ada_page, new_page, axe_check, size):
    judged_round(items=4, name="arena", grades=(3, 3, 2))
    page = ada_page(viewport=size)

    page.goto(reverse("split_new"))
    page.get_by_label("Name").fill("exam")
    page.get_by_label("arena").check()
    expect(page.locator("#split-counts")).to_contain_text("4 items")
    page.get_by_label("Items, at most").fill("3")
    page.get_by_label("Name").focus()
    expect(page.locator("#split-counts")).to_contain_text("3 items")
    axe_check(page)
    assert fits(page)
    page.get_by_role("button", name="Freeze split").click()

    expect(page.get_by_role("heading", name="exam-v1")).to_be_visible()
    page.get_by_role("button", name="Audit").click()
    expect(page.get_by_role("link", name="Read the report")).to_be_visible()
    axe_check(page)
    assert fits(page)
    page.get_by_role("link", name="Read the report").click()
    expect(page.get_by_role("heading", name="Audit of exam-v1")).to_be_visible()
    axe_check(page)
    assert fits(page)
    page.go_back()

    while (shut := page.get_by_text("Waive it in writing")).count():
        shut.first.click()
        page.get_by_label("Reason").first.fill("A trial split that stays in the house.")
        page.get_by_role("button", name="Waive the gate").first.click()
    page.get_by_role("button", name="Release split").click()
    page.get_by_role("button", name="Open a public page").click()
    expect(page.get_by_role("link", name="Public page")).to_be_visible()
    _withdraw_one(page)

    expect(page.get_by_role("heading", name="exam-v2")).to_be_visible()
    page.get_by_role("link", name="What changed").click()
    expect(page.get_by_role("heading", name="From exam-v1 to exam-v2")).to_be_visible()
    axe_check(page)
    assert fits(page)
    stranger = new_page(viewport=size)
    stranger.goto(reverse("split_public", args=[Split.objects.get(version=1).uid]))
    expect(stranger.get_by_role("heading", name="exam-v1")).to_be_visible()
    axe_check(stranger)
    assert fits(stranger)


def _withdraw_one(page):
    gone = Split.objects.get().items.first().dialogue.uid
    page.get_by_text("Withdraw items", exact=True).first.click()
    page.get_by_label(re.compile("^Items")).first.fill(gone)
    form = page.locator("form[action$='/withdraw/']")
    form.get_by_label("Reason").fill("The speaker took their consent back.")
    form.get_by_role("button").click()
