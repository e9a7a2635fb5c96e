"""The comparison in a browser: readable on a phone, clean to axe, and the exam begins with Enter."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.urls import reverse

from evaluation.services import respondent_drive, sitting_open, study_run
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import model_respondent, right_answer, sit_through, speecheq_study, wrong_answer

pytestmark = pytest.mark.django_db(transaction=True)


def half(record):
    return right_answer(record) if record.dialogue_id % 2 else wrong_answer(record)


@pytest.fixture
def study():
    made = speecheq_study(items=6)
    for person, choose in (("ann", right_answer), ("ben", half), ("cleo", right_answer)):
        sit_through(made, user=annotator(username=person), choose=choose)
    sit_through(made, respondent=model_respondent(made, name="poor-model"), choose=wrong_answer)
    sit_through(made, respondent=model_respondent(made, name="fair-model-with-a-long-name"), choose=half)
    respondent_drive(respondent=study_run(study=made, backend="random", runs=2))
    return made


def addresses(study):
    item = study.split.items.first().dialogue
    return {
        "comparison": reverse("comparison", args=[study.uid]),
        "items": reverse("comparison_items", args=[study.uid]),
        "item": reverse("comparison_item", args=[study.uid, item.uid]),
        "report": reverse("study_report", args=[study.uid]),
        "power": reverse("study_power", args=[study.uid]),
    }


@pytest.mark.parametrize("width", [360, 1440])
def test_pages_fit_and_are_clean(new_page, sign_in, axe_check, study, width):
    page = new_page(viewport={"width": width, "height": 900})
    sign_in(page, researcher())
    page.set_default_navigation_timeout(30_000)
    for name, address in addresses(study).items():
        page.goto(address)
        page.wait_for_load_state("networkidle")
        axe_check(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        for image in page.locator("img.chart").all():
            image.scroll_into_view_if_needed()
            image.evaluate("image => image.decode()")
            drawn, shown = image.evaluate("image => [image.naturalWidth, image.getBoundingClientRect().width]")
            assert shown >= 0.75 * drawn, f"{image.get_attribute('src')} is drawn for this width, not shrunk"
        if folder := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)


def test_enter_begins_the_exam(page, sign_in):
    person = annotator()
    sitting = sitting_open(study=speecheq_study(items=1), user=person)
    sign_in(page, person)
    page.goto(reverse("sit", args=[sitting.uid]))
    page.locator("body").press("Enter")
    page.wait_for_selector("#sit-form .clip-wave")
    options = page.locator("#sit-form [data-letter] .clip")
    assert set(options.locator(".clip-time").all_inner_texts()) == {""}, "the longer one is not to be seen"
    wave = options.locator(".clip-wave").first
    assert (wave.get_attribute("aria-valuemax"), wave.get_attribute("aria-valuetext")) == ("100", "0 %")
    assert ":" in page.locator("#sit-question li .clip-time").first.inner_text()
