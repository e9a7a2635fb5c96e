"""The protocol of a study in a browser: two versions, what changed between them, the lock, and the pre-registration taken away."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from django.urls import reverse

from evaluation.services import protocol_lock, protocol_save
from evaluation.services.unblinding import study_unblind
from tests.eqstudio.factories import researcher
from tests.evaluation.factories import speecheq_study
from tests.evaluation.test_human_agreement import crowd

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study():
    study = speecheq_study(items=3)
    protocol_save(study=study, content={"recruitment": {"population": "Adults"}, "execution": {"headphones": "off"}})
    return study


def test_a_protocol_is_changed_compared_locked_and_taken_away(page, sign_in, study, tmp_path):
    sign_in(page, researcher())
    page.goto(reverse("study_protocol", args=[study.uid]))
    page.get_by_role("link", name="Fill in").click()
    page.locator('[name="recruitment.population"]').fill("Adults who speak English")
    page.locator('[name="execution.headphones"]').select_option("required")
    page.get_by_role("button", name="Save version").click()
    page.wait_for_url(f"**{reverse('study_protocol', args=[study.uid])}")
    assert study.protocols.count() == 2

    page.goto(reverse("protocol_changes", args=[study.uid]))
    assert page.locator("h1").inner_text() == "From version 1 to version 2"
    assert page.locator("del").all_inner_texts() == ["Adults", "not asked for"]
    assert page.locator("ins").all_inner_texts() == ["Adults who speak English", "checked, and required"]

    page.goto(reverse("study_protocol", args=[study.uid]))
    page.get_by_text("Lock this protocol").first.click()
    page.locator(f'form[action="{reverse("protocol_lock", args=[study.uid])}"] button').click()
    page.wait_for_selector(".chip.good:has-text('locked')")
    assert page.get_by_role("link", name="Fill in").count() == 0
    study.refresh_from_db()
    assert study.locked_at is not None

    with page.expect_download() as download:
        page.get_by_role("link", name="JSON", exact=True).click()
    file = tmp_path / "registration.json"
    download.value.save_as(file)
    told = json.loads(file.read_text(encoding="utf-8"))
    assert told["registration"]["state"] == "locked"
    assert told["hash"] in page.content()
    program = re.search(r'-c "(.*)" FILE', told["recompute"], re.DOTALL)[1]
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == told["hash"]

    with page.expect_download() as download:
        page.get_by_role("link", name="Pre-registration as Markdown").click()
    assert download.value.suggested_filename == f"{study.name}-registration.md"


@pytest.mark.parametrize(("width", "locale"), [(1440, "en-US"), (360, "zh-CN")])
def test_pages_fit_and_are_clean(*, new_page, sign_in, axe_check, study, width, locale):
    protocol_save(study=study, content={"recruitment": {"population": "Adults who speak English"}})
    user = researcher(language="zh-hans" if locale.startswith("zh") else "en")
    page = new_page(viewport={"width": width, "height": 900}, locale=locale)
    sign_in(page, user)
    for name in ("study_protocol", "protocol_edit", "protocol_changes", "study_specials", "answer_imports"):
        page.goto(reverse(name, args=[study.uid]))
        page.wait_for_load_state("networkidle")
        axe_check(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize(("width", "locale"), [(1440, "en-US"), (360, "zh-CN")])
def test_what_people_say_of_each_other_fits_and_is_clean(*, new_page, sign_in, axe_check, study, width, locale):
    protocol_lock(study=study)
    crowd(study)
    user = researcher(username="rita", language="zh-hans" if locale.startswith("zh") else "en")
    study_unblind(study=study, actor=user)
    page = new_page(viewport={"width": width, "height": 900}, locale=locale)
    page.set_default_navigation_timeout(60_000)  # the first page with figures brings the libraries that make them
    sign_in(page, user)
    page.goto(reverse("study_people", args=[study.uid]))
    assert page.locator("#agreement tbody tr").count() > 4
    for closed in page.locator("#agreement details").all():
        closed.locator("summary").click()
    axe_check(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
