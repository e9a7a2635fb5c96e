"""The exports of a split in the browser: chosen by keyboard, tried again, readable at any width."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Export
from tests.annotation.factories import split_of


@pytest.mark.parametrize("width", [360, 1440])
def test_exports_of_a_split_are_asked_for_and_tried_again(new_page, sign_in, axe_check, rita, width):
    split = split_of(items=2, name="arena")
    Export.objects.create(split=split, format="csv", state="failed", error="The disk was full.", done=1)
    page = new_page(viewport={"width": width, "height": 900})
    sign_in(page, rita)

    page.goto(f"/splits/{split.uid}/")
    page.locator("#id_format").focus()
    page.keyboard.press("Tab")
    expect(page.locator("#id_bom")).to_be_focused()
    page.get_by_text("Send it to a hub, too").click()
    expect(page.locator("#id_token_env")).to_have_value("HF_TOKEN")
    axe_check(page)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("link", name="Download")).to_be_visible()

    assert Export.objects.get().state == "done"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
