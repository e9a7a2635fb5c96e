"""A corpus in a browser: walked by keyboard, filled by an upload, readable by a phone and by axe."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from generation.models import Dialogue, Upload
from generation.services import corpus_create, corpus_import
from tests.eqstudio import factories
from tests.generation.factories import speecheq_dialogue, wav_bytes

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def corpus(transactional_db):
    made = corpus_create(name="harbour")
    for title in ("Alder", "Birch", "Cedar"):
        speecheq_dialogue(corpus=made, title=title)
    return made


@pytest.fixture
def page_of(new_page, sign_in):
    def open_page(**options) -> Page:
        page = new_page(**options)
        sign_in(page, factories.researcher(username="rita"))
        return page

    return open_page


def test_list_and_dialogues_are_walked_by_keyboard(page_of, corpus, axe_check):
    page = page_of()
    page.goto(f"{reverse('corpus', args=[corpus.uid])}?sort=title")
    axe_check(page)

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    expect(page.locator("h1")).to_have_text("Birch")
    axe_check(page)
    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("Cedar")
    page.keyboard.press("k")
    expect(page.locator("h1")).to_have_text("Birch")
    page.keyboard.press("p")
    expect(page.locator("h1")).to_have_text("Alder")
    assert "sort=title" in page.url


def test_keys_do_nothing_while_somebody_types(page_of, corpus):
    page = page_of()
    page.goto(reverse("corpus", args=[corpus.uid]))
    page.get_by_label("Words").press_sequentially("birch jnkp")

    expect(page.get_by_label("Words")).to_have_value("birch jnkp")
    expect(page.locator("h1")).to_have_text("harbour")


@pytest.mark.parametrize("width", [360, 1440])
def test_files_are_sent_and_the_page_tells_what_came_of_them(page_of, corpus, axe_check, width, tmp_path):
    page = page_of(viewport={"width": width, "height": 800})
    files = {
        "a.wav": wav_bytes(seconds=0.4),
        "b.wav": b"<html>404</html>",
        "t.csv": b"audio,text\na.wav,One.\nb.wav,Two.\n",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    page.goto(reverse("corpus_upload", args=[corpus.uid]))
    axe_check(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.get_by_label("Files").set_input_files([tmp_path / name for name in files])
    page.get_by_label("Category").select_option("echomind/happy")
    page.get_by_label("Category").press("Enter")
    page.get_by_role("button", name="Send").click()

    expect(page.get_by_role("status").first).to_contain_text("2 of 2 rows are dealt with.")
    expect(page.get_by_role("cell", name="it is a web page, not a sound")).to_be_visible()
    axe_check(page)
    assert (Upload.objects.get().made, Dialogue.objects.filter(category="happy").count()) == (1, 1)


def test_the_words_of_a_recording_are_typed_in_by_keyboard_alone(page_of, corpus, axe_check, tmp_path):
    (tmp_path / "a.wav").write_bytes(wav_bytes(seconds=0.6))
    corpus_import(corpus=corpus, path=tmp_path, format="audio", defaults={"category": "happy"})
    dialogue = Dialogue.objects.get(source="recorded")
    page = page_of(viewport={"width": 360, "height": 740})
    page.goto(reverse("dialogue", args=[dialogue.uid]))
    page.get_by_role("link", name="Put the words right").press("Enter")
    axe_check(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    page.get_by_label("Its words").press_sequentially("Who is there?")
    page.get_by_role("button", name="Save and check again").press("Enter")

    expect(page.locator("h1")).to_have_text("a")
    expect(page.get_by_text("Who is there?", exact=True).first).to_be_visible()
    dialogue.refresh_from_db()
    assert dialogue.state == "ready"


@pytest.mark.parametrize("width", [360, 1440])
def test_flagged_dialogues_are_ticked_and_decided_together(page_of, corpus, axe_check, width):
    corpus.dialogues.exclude(title="Alder").update(state="flagged")
    page = page_of(viewport={"width": width, "height": 900})
    page.goto(f"{reverse('corpus', args=[corpus.uid])}?state=flagged")
    page.get_by_label("All flagged dialogues on this page").check()
    boxes = page.locator("input[name=dialogue]")
    expect(boxes).to_have_count(2)
    expect(boxes.first).to_be_checked()
    axe_check(page)

    page.get_by_label("Why").fill("I listened to all of them.")
    page.get_by_role("button", name="Decide").click()

    expect(page.get_by_text("2 dialogues are now: ready.")).to_be_visible()
    assert set(corpus.dialogues.values_list("state", flat=True)) == {"ready"}
