"""The settings of a round in a real browser: rules that were not saved survive the other forms of the page."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotation.models import Round
from tests.annotation.factories import round_with

pytestmark = pytest.mark.django_db(transaction=True)


def test_unsaved_rules_survive_a_pause_and_a_search(new_page, sign_in, rita, axe_check):
    made = round_with(items=1, people_per_item=3)
    page = new_page(viewport={"width": 1440, "height": 900})
    sign_in(page, rita)
    settings = reverse("round_settings", args=[made.uid])
    page.goto(settings)
    notice = page.get_by_text("These rules hold changes that are not saved yet.")
    expect(notice).to_be_hidden()

    page.locator("#id_people_per_item").fill("5")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", name=made.name)).to_be_visible()
    page.goto(settings)
    expect(page.get_by_role("button", name="Open again")).to_be_visible()
    expect(page.locator("#id_people_per_item")).to_have_value("5")
    expect(notice).to_be_visible()
    axe_check(page)
    page.get_by_label("Look for a dialogue by its title").fill("nothing")
    page.get_by_role("button", name="Look").click()
    expect(page.locator("#id_people_per_item")).to_have_value("5")
    page.get_by_role("button", name="Save the rules").click()
    expect(page.locator("#id_people_per_item")).to_have_value("5")
    expect(notice).to_be_hidden()

    assert Round.objects.get().people_per_item == 5
