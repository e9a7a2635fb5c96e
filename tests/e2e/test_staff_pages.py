"""The pages of the staff on a phone, in Chinese and in the dark: nothing sticks out sideways, and axe finds nothing grave."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.annotation.factories import judged_round
from tests.e2e.test_splits import fits
from tests.evaluation.factories import speecheq_study

pytestmark = pytest.mark.django_db(transaction=True)

PLAIN = (
    "home",
    "search",
    "corpora",
    "batches",
    "batch_new",
    "providers",
    "rounds",
    "round_new",
    "disputes",
    "splits",
    "split_new",
    "studies",
    "study_new",
    "runs",
    "people",
    "person_new",
    "events",
    "health",
    "webhooks",
    "me",
)
OF_A_STUDY = ("study", "study_protocol", "protocol_edit", "study_people", "invitations", "study_specials", "run_new")
OF_A_ROUND = ("round", "round_items", "round_people", "round_gold", "round_rules", "round_settings", "round_import")


def test_staff_pages_fit_a_phone_in_chinese(new_page, sign_in, axe_check, ada):
    ada.language = "zh-hans"
    ada.save(update_fields=["language"])
    made, study = judged_round(items=2, name="a-round-whose-name-is-long"), speecheq_study()
    addresses = [reverse(name) for name in PLAIN]
    addresses += [reverse(name, args=[study.uid]) for name in OF_A_STUDY]
    addresses += [reverse(name, args=[made.uid]) for name in OF_A_ROUND]
    page = new_page(viewport={"width": 360, "height": 780}, color_scheme="dark", locale="zh-CN")
    sign_in(page, ada)
    page.set_default_navigation_timeout(30_000)
    for address in addresses:
        page.goto(address)
        page.wait_for_load_state("networkidle")
        axe_check(page)
        assert fits(page), address
