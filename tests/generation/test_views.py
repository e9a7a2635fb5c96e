import re

import pytest
from django.core.files.storage import default_storage
from django.urls import reverse

from eqstudio.blobs import blob_key
from generation.models import Batch, Corpus, Dialogue, Variant
from tests.generation.factories import CorpusFactory, DialogueFactory, speecheq_dialogue
from tests.generation.pipeline import batch_of

pytestmark = pytest.mark.django_db


PAGES = {
    "corpora": list,
    "corpus": lambda: [CorpusFactory().uid],
    "dialogue": lambda: [speecheq_dialogue().uid],
    "batches": list,
    "batch_new": list,
    "batch": lambda: [batch_of(count=2).uid],
    "providers": list,
}
ACTIONS = {
    "batch_cancel": lambda: [batch_of(count=2).uid],
    "batch_retry": lambda: [batch_of(count=2).uid],
    "provider_check": lambda: ["text", "fake"],
}


@pytest.mark.every_case
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("role", ["rita", "ada"])
def test_page_opens_for_who_may_curate(client, request, role, name):
    client.force_login(request.getfixturevalue(role))

    response = client.get(reverse(name, args=PAGES[name]()))

    assert response.status_code == 200
    assert b"<h1>" in response.content


@pytest.mark.parametrize("name", ["corpus", "dialogue", "batch"])
def test_page_of_an_unknown_code_is_not_found(client, rita, name):
    client.force_login(rita)

    assert client.get(reverse(name, args=["abcdefgh23456789"])).status_code == 404


@pytest.mark.parametrize("name", ACTIONS)
def test_action_does_not_answer_get(client, rita, name):
    client.force_login(rita)

    assert client.get(reverse(name, args=ACTIONS[name]())).status_code == 405


@pytest.mark.parametrize("count", [1, 3])
def test_corpora_page_is_constant_in_queries(client, rita, count, django_assert_num_queries):
    for _ in range(count):
        DialogueFactory()
    client.force_login(rita)

    with django_assert_num_queries(5):
        response = client.get(reverse("corpora"))

    assert len(response.context["page_obj"]) == count


@pytest.mark.parametrize("count", [1, 3])
def test_corpus_page_is_constant_in_queries(client, rita, count, django_assert_num_queries):
    corpus = CorpusFactory()
    for _ in range(count):
        speecheq_dialogue(corpus=corpus)
    client.force_login(rita)

    with django_assert_num_queries(9):
        response = client.get(reverse("corpus", args=[corpus.uid]))

    assert [counted.lines for _dialogue, counted in response.context["rows"]] == [8] * count


@pytest.mark.parametrize("count", [1, 3])
def test_batch_pages_are_constant_in_queries(client, rita, count, django_assert_num_queries):
    batch = batch_of(count=count)
    client.force_login(rita)

    with django_assert_num_queries(12):
        response = client.get(reverse("batch", args=[batch.uid]))
    with django_assert_num_queries(5):
        client.get(reverse("batches"))

    assert response.context["progress"].total == count


def test_corpus_page_filters(client, rita):
    corpus = CorpusFactory()
    mine = DialogueFactory(corpus=corpus, state="flagged", language="zh")
    DialogueFactory(corpus=corpus, state="ready", language="zh")
    DialogueFactory(state="flagged", language="zh")
    client.force_login(rita)

    response = client.get(reverse("corpus", args=[corpus.uid]), {"state": "flagged", "language": "zh", "page": "1"})

    assert list(response.context["page_obj"]) == [mine]


def test_corpus_is_made_and_a_bad_name_comes_back_with_the_input(client, rita):
    client.force_login(rita)

    made = client.post(reverse("corpora"), {"name": "arena", "licence": "CC-BY-4.0"})
    again = client.post(reverse("corpora"), {"name": "arena", "licence": "kept text"})
    bad = client.post(reverse("corpora"), {"name": "two words"})

    assert made.url == reverse("corpus", args=[Corpus.objects.get().uid])
    assert again.status_code == bad.status_code == 200
    assert "kept text" in again.content.decode()
    assert "There is a corpus called arena already." in again.content.decode()
    assert bad.context["form"].errors["name"]


def test_dialogue_page_has_a_player_for_every_variant_under_an_opaque_address(client, rita):
    dialogue = speecheq_dialogue()
    client.force_login(rita)

    page = client.get(reverse("dialogue", args=[dialogue.uid])).content.decode()

    uids = [variant.uid for turn in dialogue.turns.all() for variant in turn.variants.all()]
    assert re.findall(r'class="clip" data-clip="([^"]+)"', page) == uids
    addresses = re.findall(r'data-src="(/media/[^"]+)"', page)
    assert len(set(addresses)) == 8
    assert b"".join(client.get(addresses[0]).streaming_content)[:4] == b"RIFF"
    assert "style=" not in page


def test_dialogue_page_names_the_lines_whose_sound_is_gone(client, rita):
    dialogue = speecheq_dialogue()
    for variant in Variant.objects.filter(turn__dialogue=dialogue, turn__position__in=(2, 6)):
        default_storage.delete(blob_key(variant.clip.sha256))
    client.force_login(rita)

    page = client.get(reverse("dialogue", args=[dialogue.uid])).content.decode()

    assert "The sound of these lines is missing from the store: 2, 6." in page


def test_batch_is_asked_for_on_a_page(client, rita):
    client.force_login(rita)
    asked = {
        "corpus": "fresh",
        "benchmark": "speecheq",
        "categories": ["speecheq/interpersonal_empathy", "speecheq/stress_management_optimism"],
        "languages": ["en", "zh"],
        "per_category": "2",
        "text_provider": "fake",
        "voice_provider": "fake",
        "transcriber": "fake",
        "seed": "0",
    }

    response = client.post(reverse("batch_new"), asked)
    again = client.post(reverse("batch_new"), asked)

    batch = Batch.objects.get()
    assert response.url == reverse("batch", args=[batch.uid])
    assert (batch.corpus.name, batch.created_by, Dialogue.objects.count()) == ("fresh", rita, 8)
    assert "holds all of these already" in again.content.decode()


def test_batch_form_comes_back_with_its_input_when_something_is_wrong(client, rita):
    client.force_login(rita)

    response = client.post(
        reverse("batch_new"),
        {
            "corpus": "kept-name",
            "benchmark": "emosbench",
            "categories": ["speecheq/interpersonal_empathy"],
            "languages": ["en"],
            "per_category": "1",
            "text_provider": "fake",
            "voice_provider": "fake",
            "transcriber": "fake",
            "seed": "0",
        },
    )

    assert response.status_code == 200
    assert 'value="kept-name"' in response.content.decode()
    assert "belong to another benchmark" in response.context["form"].errors["categories"][0]
    assert not Batch.objects.exists()


def test_batch_progress_polls_while_it_runs_and_stops_after(client, rita):
    batch = batch_of(count=2)
    client.force_login(rita)

    running = client.get(reverse("batch", args=[batch.uid]), headers={"hx-request": "true"}).content.decode()
    Dialogue.objects.update(state="ready")
    done = client.get(reverse("batch", args=[batch.uid]), headers={"hx-request": "true"}).content.decode()

    assert 'hx-trigger="every 2s"' in running
    assert "<html" not in running
    assert "hx-trigger" not in done


def test_batch_is_called_off_and_failures_are_retried_by_cause(client, rita):
    batch = batch_of(count=3)
    first, second, _third = Dialogue.objects.all()
    Dialogue.objects.filter(pk=first.pk).update(state="failed", error_cause="timeout", error="No answer in time.")
    Dialogue.objects.filter(pk=second.pk).update(state="failed", error_cause="refused", error="It declined.")
    client.force_login(rita)

    page = client.get(reverse("batch", args=[batch.uid])).content.decode()
    client.post(reverse("batch_retry", args=[batch.uid]), {"cause": "timeout"})
    client.post(reverse("batch_cancel", args=[batch.uid]))

    assert "No answer in time." in page
    assert list(Dialogue.objects.order_by("pk").values_list("state", flat=True)) == ["briefed", "failed", "briefed"]
    batch.refresh_from_db()
    assert batch.cancelled_at is not None
    assert client.post(reverse("batch_cancel", args=[batch.uid])).status_code == 409


def test_provider_check_answers_for_its_row_and_as_a_page(client, rita):
    client.force_login(rita)
    address = reverse("provider_check", args=["voice", "fake"])

    part = client.post(address, headers={"hx-request": "true"}).content.decode()
    page = client.post(address).content.decode()

    assert "works" in part
    assert "<html" not in part
    assert "<html" in page
    assert client.post(reverse("provider_check", args=["voice", "nobody"])).status_code == 404
    assert client.post(reverse("provider_check", args=["smell", "fake"])).status_code == 404


def test_search_finds_by_code_title_and_spoken_words(client, rita):
    dialogue = speecheq_dialogue(title="The greenhouse")
    client.force_login(rita)

    for query in (dialogue.uid, "greenh", f"Line 4 of dialogue {dialogue.pk}."):
        hits = client.get(reverse("search"), {"q": query}).context["hits"]
        assert [hit.code for hit in hits] == [dialogue.uid]


def test_strip_shows_what_is_being_made(client, rita):
    batch = batch_of(count=2)
    client.force_login(rita)

    strip = client.get(reverse("running")).content.decode()

    assert reverse("batch", args=[batch.uid]) in strip
