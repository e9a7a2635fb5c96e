"""Files of answers in a browser: when one ends, the page tells it and what somebody types meanwhile stays."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from evaluation.models import AnswerImport
from evaluation.services.intakes import intake_run
from tests.eqstudio.factories import researcher
from tests.evaluation.test_imports import study  # noqa: F401 -- a fixture
from tests.evaluation.test_imports_pages import intake_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_typed_stays_when_a_file_ends(page, sign_in, study):  # noqa: F811
    intake_run(intake_id=intake_of(study).pk, now=timezone.now())
    intake = intake_of(study, respondent="other", name="second.json")
    sign_in(page, researcher())
    page.goto(reverse("answer_imports", args=[study.uid]))
    page.locator("[name=respondent]").fill("half a na")
    details = page.locator(f"#out-{AnswerImport.objects.get().uid}")
    details.locator("summary").click()
    details.locator("[name=reason]").fill("wrong mod")
    intake_run(intake_id=intake.pk, now=timezone.now())
    page.wait_for_selector("#imports tbody tr >> nth=1")
    assert page.locator("[name=respondent]").input_value() == "half a na"
    assert details.locator("[name=reason]").input_value() == "wrong mod"
    assert details.locator("[name=reason]").is_visible()
    assert page.locator("#imports").count() == 1
    page.wait_for_selector("#intakes :text('You may leave this page')", state="detached")
