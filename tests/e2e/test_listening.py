"""The exam in a real browser: listening, keys, a lost connection."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from evaluation.models import Response, Sitting
from tests.e2e.sounds import hear_everything, voice
from tests.evaluation.factories import emosbench_study, speecheq_study

pytestmark = pytest.mark.django_db(transaction=True)


def test_exam_from_instructions_to_the_end(alice_page, axe_check):
    study = speecheq_study(items=1, name="exam-en")
    voice()
    page = alice_page()
    page.goto("/")
    page.evaluate(
        """(address) => {
            const form = document.createElement("form");
            form.method = "post";
            form.action = address;
            const field = document.createElement("input");
            field.name = "csrfmiddlewaretoken";
            field.value = JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
            form.append(field);
            document.body.append(form);
            form.submit();
        }""",
        f"/studies/{study.uid}/sit/",
    )
    page.get_by_role("button", name="Begin").click()
    while page.locator("#sit-form").count():
        expect(page.locator(".clip.is-ready").first).to_be_visible()
        number = Response.objects.count()
        expect(page.locator('input[name="answer"]').first).to_be_disabled()
        axe_check(page)
        hear_everything(page, "#sit-question")
        page.keyboard.press("1")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        expect(page.locator("#sit-form [data-letter] .clip.is-heard")).to_have_count(0)
        assert Response.objects.count() == number + 1

    expect(page.locator(".sit-finished")).to_contain_text("You have finished")
    assert Sitting.objects.get().state == "finished"
    first = Response.objects.first()
    assert first.raw == '{"answer": "B"}'
    assert first.paradata["changes"] == 1
    assert first.paradata["first_play_at"] > first.paradata["shown_at"]
    assert sum(first.paradata["plays"].values()) >= 2
    assert first.created <= timezone.now()


def test_exam_answer_survives_a_lost_connection(alice_page, alice, console):
    study = emosbench_study(items=1)
    voice()
    page = alice_page()
    sitting = Sitting.objects.create(
        respondent=study.respondents.create(name="Person 1", kind="person", user=alice), order_seed=1
    )
    page.goto(f"/sit/{sitting.uid}/")
    page.get_by_role("button", name="Begin").click()
    expect(page.locator(".clip.is-ready").first).to_be_visible()
    hear_everything(page, "#sit-question")
    page.locator(".judge-grade", has_text="4").click()
    page.context.set_offline(True)
    page.locator("#sit-submit").click()
    expect(page.locator("#sit-outbox")).to_contain_text("Not saved yet: 1 answer waits here.")
    page.context.set_offline(False)

    expect(page.locator("#sit-outbox")).to_be_empty()
    expect(page.locator(".clip.is-ready").first).to_be_visible()
    assert Response.objects.get().raw == '{"answer": 4}'
    console.clear()
