"""Finding one's way in a corpus: filters, order, neighbours, and what was heard held against what was to be said."""

from __future__ import annotations

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from generation.domain.transcript import Part, transcript_diff
from generation.models import QcReport
from generation.selectors import dialogue_neighbours, dialogues_wanted, findings_named, wanted_read
from tests.generation.factories import CorpusFactory, DialogueFactory, speecheq_dialogue


def titles(corpus, **parameters):
    return [row.title for row in dialogues_wanted(corpus=corpus, wanted=wanted_read(parameters))]


@pytest.fixture
def corpus(db):
    made = CorpusFactory()
    DialogueFactory(corpus=made, title="Bakery", category="interpersonal_empathy", state="ready")
    DialogueFactory(corpus=made, title="Attic", category="interpersonal_empathy", state="flagged", language="zh")
    DialogueFactory(corpus=made, title="Cellar 100%", source="recorded", benchmark="emosbench", category="bap")
    DialogueFactory(title="Elsewhere")
    return made


@pytest.mark.every_case
@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, ["Cellar 100%", "Attic", "Bakery"]),
        ({"sort": "oldest"}, ["Bakery", "Attic", "Cellar 100%"]),
        ({"sort": "title"}, ["Attic", "Bakery", "Cellar 100%"]),
        ({"sort": "category"}, ["Cellar 100%", "Bakery", "Attic"]),
        ({"sort": "nonsense"}, ["Cellar 100%", "Attic", "Bakery"]),
        ({"benchmark": "emosbench"}, ["Cellar 100%"]),
        ({"language": "zh"}, ["Attic"]),
        ({"source": "recorded", "state": "ready"}, ["Cellar 100%"]),
        ({"q": "ATT"}, ["Attic"]),
        ({"q": "100%"}, ["Cellar 100%"]),
        ({"q": "0\x00x"}, []),
        ({"category": "bap", "language": "zh"}, []),
    ],
)
def test_a_list_holds_what_fits_in_the_order_asked_for(corpus, parameters, expected):
    assert titles(corpus, **parameters) == expected


def test_a_dialogue_is_found_by_its_code_and_by_the_check_it_failed_last(corpus):
    bakery, attic = corpus.dialogues.get(title="Bakery"), corpus.dialogues.get(title="Attic")
    for dialogue, run, passed in ((bakery, 1, False), (bakery, 2, True), (attic, 1, False)):
        QcReport.objects.create(dialogue=dialogue, run=run, check_name="silence", passed=passed)

    assert findings_named() == ["silence"]
    assert titles(corpus, finding="silence") == ["Attic"]
    assert titles(corpus, q=bakery.uid) == ["Bakery"]


@pytest.mark.every_case
@pytest.mark.parametrize("order", ["newest", "oldest", "title", "category"])
def test_walking_from_one_to_the_next_visits_the_list_in_its_order(corpus, order):
    DialogueFactory(corpus=corpus, title="Attic", category="bap")
    wanted = wanted_read({"sort": order})
    listed = list(dialogues_wanted(corpus=corpus, wanted=wanted))

    beside = [dialogue_neighbours(dialogue=dialogue, wanted=wanted) for dialogue in listed]

    uids = [dialogue.uid for dialogue in listed]
    assert [found.after for found in beside] == [*uids[1:], ""]
    assert [found.before for found in beside] == ["", *uids[:-1]]


def test_neighbours_take_two_queries(corpus, django_assert_num_queries):
    dialogue = corpus.dialogues.select_related("corpus").get(title="Attic")
    with django_assert_num_queries(2):
        dialogue_neighbours(dialogue=dialogue, wanted=wanted_read({"q": "a", "finding": "silence", "sort": "title"}))


def test_the_list_hands_its_filters_to_the_dialogue_and_back(client, rita, corpus):
    client.force_login(rita)
    speecheq_dialogue(corpus=corpus, title="Dairy", language="en")
    page = client.get(reverse("corpus", args=[corpus.uid]), {"language": "en", "sort": "title", "page": "1"})
    bakery = corpus.dialogues.get(title="Bakery")
    address = f"{reverse('dialogue', args=[bakery.uid])}?language=en&amp;sort=title"
    assert address in page.content.decode()

    shown = client.get(reverse("dialogue", args=[bakery.uid]), {"language": "en", "sort": "title"}).content.decode()

    cellar = corpus.dialogues.get(title="Cellar 100%")
    assert f'rel="next" href="{reverse("dialogue", args=[cellar.uid])}?language=en&amp;sort=title"' in shown
    assert 'rel="prev"' not in shown
    assert f"{reverse('corpus', args=[corpus.uid])}?language=en&amp;sort=title" in shown


def test_nothing_that_fits_says_so_and_keeps_the_words(client, rita, corpus):
    client.force_login(rita)
    page = client.get(reverse("corpus", args=[corpus.uid]), {"q": "zebra <b>"}).content.decode()

    assert "Nothing fits these filters" in page
    assert 'value="zebra &lt;b&gt;"' in page


# --- what was heard -----------------------------------------------------------------------------------------------


def test_words_are_marked_as_missing_added_or_other():
    assert transcript_diff("I have to go home, now.", "i have go hone now please", "en") == [
        Part("same", "I have"),
        Part("missing", "to"),
        Part("same", "go"),
        Part("other", "home,", "hone"),
        Part("same", "now."),
        Part("added", "please"),
    ]


def test_chinese_is_held_against_itself_by_character():
    assert transcript_diff("今天天气很好。", "今天天汽好", "zh") == [
        Part("same", "今天天"),
        Part("other", "气", "汽"),
        Part("missing", "很"),
        Part("same", "好"),
    ]


def test_nothing_heard_leaves_everything_missing():
    assert transcript_diff("Good morning.", "", "en") == [Part("missing", "Good morning.")]
    assert transcript_diff("", "", "en") == []


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(["en", "zh"]))
def test_the_parts_hold_all_that_was_to_be_said(text, heard, language):
    parts = transcript_diff(text, heard, language)
    glue = "" if language == "zh" else " "
    said = glue.join(part.text for part in parts if part.kind != "added")
    same = transcript_diff(text, text, language)
    assert len(said) <= len(text)
    assert [part.kind for part in same] in ([], ["same"])


def test_the_differences_are_marked_by_signs_and_not_by_colour_alone(client, rita):
    from django.template.loader import render_to_string

    parts = transcript_diff("one two", "one three four", "en")
    shown = " ".join(render_to_string("generation/transcript.html", {"parts": parts, "language": "en"}).split())

    assert '<del class="diff">[−two</del> → <ins class="diff">three]</ins>' in shown or "[+" in shown
    assert '<del class="diff">' in shown
    assert '<ins class="diff">' in shown
