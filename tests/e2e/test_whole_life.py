"""One item's whole life, as the three roles see it: from a brief to the comparison of people with a model."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import Judgement, Round, Split
from annotation.selectors.judgements import required_clips
from annotation.services import assignment_next, grade_submit
from evaluation.models import Response, Sitting, Study
from generation.models import Batch, Dialogue
from tests.e2e.sounds import hear_everything
from tests.eqstudio import factories

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

PASSWORD = "a-long-password"
ITEMS = 2


@pytest.fixture
def person(new_page, axe_check) -> Callable[[str], Page]:
    """A browser of one's own, signed in by typing a name and a password."""

    def sign_in_as(username: str) -> Page:
        page = new_page()
        page.goto("/")
        axe_check(page)
        page.locator("#id_login").fill(username)
        page.locator("#id_password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator("h1")).to_be_visible()
        page.evaluate("sessionStorage.setItem('eqstudio.rate', '2')")
        axe_check(page)
        return page

    return sign_in_as


@pytest.fixture
def go(axe_check) -> Callable[..., None]:
    """Open an address and look at it with axe."""

    def visit(page: Page, address: str) -> None:
        page.goto(address)
        expect(page.locator("h1")).to_be_visible()
        axe_check(page)

    return visit


def send(page: Page, name: str) -> None:
    page.locator("#main").get_by_role("button", name=name, exact=True).click()


def brief_send(page: Page) -> None:
    page.locator("#id_corpus").fill("whole-life")
    page.locator("#id_benchmark").select_option("speecheq")
    page.locator("#id_categories").select_option("speecheq/interpersonal_empathy")
    page.locator("#id_per_category").fill(str(ITEMS))
    for field in ("text_provider", "voice_provider", "transcriber"):
        page.locator(f"#id_{field}").select_option("fake")
    send(page, "Begin")


def judge_in_browser(page: Page, axe_check: Callable[[Page], None]) -> None:
    """Hear every clip, grade every variant, keep; until the round has nothing more."""
    for done in range(ITEMS):
        expect(page.locator(".clip.is-ready").first).to_be_visible()
        axe_check(page)
        hear_everything(page)
        for slot in page.locator("[data-letter]").all():
            slot.locator(".judge-grade", has_text="3").click()
        page.locator(".judge-choice", has_text="Keep").click()
        page.locator("#judge-submit").click()
        expect(page.locator(".clip.is-heard")).to_have_count(0)
        assert Judgement.objects.count() == done + 1
    axe_check(page)


def judge_in_service(round_: Round, annotator) -> None:
    """The second person, who needs no browser: keeps everything, grades by turns."""
    while assignment := assignment_next(round=round_, annotator=annotator, now=timezone.now()):
        clips = required_clips(dialogue=assignment.item.dialogue)
        graded = [clip for clip in clips if clip.graded]
        grade_submit(
            assignment=assignment,
            client_key=assignment.uid,
            verdict="keep",
            grades={clip.uid: 3 + place % 2 for place, clip in enumerate(graded)},
            heard={clip.uid: [[0, clip.duration]] for clip in clips},
            now=timezone.now(),
        )


def exam_in_browser(page: Page, axe_check: Callable[[Page], None]) -> None:
    page.get_by_role("button", name="Begin").click()
    while page.locator("#sit-form").count():
        answers = Response.objects.count()
        expect(page.locator(".clip.is-ready").first).to_be_visible()
        if not answers:
            axe_check(page)
        hear_everything(page, "#sit-question")
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        expect(page.locator("#sit-form [data-letter] .clip.is-heard")).to_have_count(0)
        assert Response.objects.count() == answers + 1
    expect(page.locator(".sit-finished")).to_contain_text("You have finished")
    axe_check(page)


def make_dialogues(page: Page, go: Callable[..., None]) -> None:
    go(page, "/batches/new/")
    brief_send(page)
    expect(page.locator("h1")).to_be_visible()
    assert Dialogue.objects.filter(state="ready").count() == ITEMS
    dialogue = Dialogue.objects.select_related("corpus").earliest("pk")
    for address in ("/corpora/", "/batches/", "/providers/", f"/batches/{Batch.objects.get().uid}/"):
        go(page, address)
    go(page, f"/corpora/{dialogue.corpus.uid}/")
    go(page, f"/dialogues/{dialogue.uid}/")


def open_round(page: Page, go: Callable[..., None]) -> Round:
    go(page, "/rounds/new/")
    page.locator("#id_name").fill("first-round")
    page.locator("#id_corpus").select_option(label="whole-life")
    page.locator("#id_people_per_item").fill("2")
    page.locator("#id_agree_needed").fill("2")
    send(page, "Open round")
    expect(page.locator("h1")).to_contain_text("first-round")
    return Round.objects.get()


def freeze_and_export(page: Page, go: Callable[..., None], round_: Round) -> Split:
    go(page, f"/rounds/{round_.uid}/")
    expect(page.locator("#main")).to_contain_text("alpha")
    go(page, f"/items/{round_.items.earliest('pk').uid}/")
    go(page, f"/splits/new/?round={round_.uid}")
    page.locator("#id_name").fill("first-split")
    send(page, "Freeze split")
    expect(page.locator("h1")).to_contain_text("first-split-v1")
    split = Split.objects.get()
    send(page, "Export")
    expect(page.get_by_role("link", name=re.compile("Download"))).to_be_visible()
    go(page, f"/splits/{split.uid}/")
    return split


def make_study(page: Page, go: Callable[..., None], split: Split) -> Study:
    go(page, f"/studies/new/?split={split.uid}")
    page.locator("#id_name").fill("first-study")
    send(page, "Make study")
    expect(page.locator("h1")).to_contain_text("first-study")
    return Study.objects.get()


def run_a_model(page: Page, go: Callable[..., None], study: Study) -> None:
    go(page, f"/studies/{study.uid}/runs/new/")
    page.locator("#id_backend").select_option("random")
    send(page, "Run")
    expect(page.locator("h1")).to_be_visible()
    assert not Sitting.objects.exclude(state=Sitting.State.FINISHED).exists()
    for address in (
        "/runs/",
        f"/runs/{Sitting.objects.latest('pk').uid}/",
        "/people/",
        "/people/new/",
        "/events/",
        "/health/",
    ):
        go(page, address)


@pytest.mark.usefixtures("alice", "rita", "ada")
def test_three_roles_take_an_item_from_brief_to_comparison(person, go, axe_check):
    researcher = person("rita")
    make_dialogues(researcher, go)
    round_ = open_round(researcher, go)
    assert round_.items.count() == ITEMS

    annotator = person("alice")
    expect(annotator.locator("#main")).to_contain_text("first-round")
    annotator.goto(f"/judge/{round_.uid}/")
    judge_in_browser(annotator, axe_check)
    go(annotator, "/my-judgements/")
    judge_in_service(round_, factories.annotator(username="bob"))

    split = freeze_and_export(researcher, go, round_)
    study = make_study(researcher, go, split)
    go(annotator, "/studies/")
    go(annotator, f"/studies/{study.uid}/")
    annotator.get_by_role("button", name="Sit the exam").click()
    exam_in_browser(annotator, axe_check)

    admin = person("ada")
    run_a_model(admin, go, study)
    go(admin, f"/studies/{study.uid}/comparison/")
    expect(admin.locator("#main")).to_contain_text("random")
    expect(admin.locator("#main")).to_contain_text("Person 1")
    assert admin.locator("#main table").count() > 0
