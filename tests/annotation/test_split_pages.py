"""Pages of splits: the form, the counts beside it, the version, its audit, its exports."""

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import Export, Round, Split
from annotation.services import export_request
from generation.models import Dialogue
from tests.annotation.factories import judged_round, round_with, split_of
from tests.generation.factories import CorpusFactory, emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def split():
    return split_of(items=2, name="arena")


def _split_form(source, **changes):
    """What the form sends for a round or a corpus."""
    where = {"rounds": [source.name]} if isinstance(source, Round) else {"corpus": source.name}
    return {"name": "exam", **where, "outcome": "kept", "minimum_people": 0, "benchmark": "", **changes}


def test_split_new_freezes_a_round(client, rita, django_capture_on_commit_callbacks):
    found = judged_round(items=2)
    client.force_login(rita)

    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(reverse("split_new"), _split_form(found), follow=True)
    answer = client.get(answer.redirect_chain[-1][0])

    split = Split.objects.get()
    assert answer.url == reverse("split", args=[split.uid])
    assert (split.round, split.item_count, split.created_by) == (found, 2, rita)


@pytest.mark.parametrize("changes", [{"name": "no good"}, {"rounds": ["nonsense"]}, {"size": "many"}])
def test_split_new_says_what_is_wrong_and_keeps_the_input(client, rita, changes):
    found = judged_round(items=2)
    client.force_login(rita)

    answer = client.post(reverse("split_new"), {**_split_form(found), "per_category": 17, **changes})

    assert answer.status_code == 422
    assert 'value="17"' in answer.content.decode()
    assert Split.objects.count() == 0


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"size": 0}, "size"),
        ({"per_category": 0}, "per_category"),
        ({"categories": "interpersonal_empathy, nowhere"}, "categories"),
        ({"benchmark": "emosbench", "categories": "interpersonal_empathy"}, "categories"),
    ],
)
def test_split_new_says_at_the_field_what_there_is_not(client, rita, changes, field):
    found = judged_round(items=2)
    client.force_login(rita)

    answer = client.post(reverse("split_new"), _split_form(found, **changes))

    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])


def test_a_category_that_only_dialogues_have_may_be_asked_for(client, rita):
    found = judged_round(items=2)
    Dialogue.objects.update(category="own")
    client.force_login(rita)

    answer = client.post(reverse("split_new"), _split_form(found, categories="own", count=1))

    assert answer.context["form"].errors == {}


def test_split_counts_tell_what_each_rule_leaves(client, rita):
    found = judged_round(items=3)
    round_with(items=1, corpus=found.corpus, name="other")
    client.force_login(rita)

    answer = client.get(reverse("split_counts"), _split_form(found, size=2))

    steps = [(step.rule, step.left, step.removed) for step in answer.context["preview"].steps]
    assert steps == [("offered", 3, 0), ("outcome", 3, 0), ("kind", 3, 0), ("size", 2, 1)]
    assert "2 items" in answer.content.decode()


def test_split_counts_of_a_corpus_warn_of_several_benchmarks(client, rita):
    corpus = CorpusFactory()
    speecheq_dialogue(corpus=corpus)
    emosbench_dialogue(corpus=corpus)
    client.force_login(rita)

    answer = client.get(reverse("split_counts"), _split_form(corpus))

    assert "several benchmarks" in answer.content.decode()


def test_split_new_counts_without_javascript(client, rita):
    found = judged_round(items=2)
    client.force_login(rita)

    answer = client.post(reverse("split_new"), {**_split_form(found, name=""), "count": "1"})

    assert (answer.status_code, answer.context["preview"].size) == (200, 2)
    assert Split.objects.count() == 0


@pytest.mark.parametrize(
    "text", ['rounds = ["nowhere"]', 'corpus = "nowhere"', 'benchmark = "nowhere"', 'categories = ["nowhere"]']
)
def test_a_recipe_file_that_names_what_is_not_there_is_refused_and_fills_no_form(client, rita, text):
    client.force_login(rita)

    answer = client.post(reverse("split_new"), {"read": "1", "file": SimpleUploadedFile("r.toml", text.encode())})

    assert answer.status_code == 422
    assert "nowhere" in answer.content.decode()


def test_split_page_shows_hash_recipe_and_items(client, split, rita):
    client.force_login(rita)

    html = client.get(reverse("split", args=[split.uid])).content.decode()

    assert split.manifest_hash in html
    assert "outcome = kept" in html
    for item in split.items.all():
        assert reverse("dialogue", args=[item.dialogue.uid]) in html


def test_an_export_is_asked_for_written_and_downloaded(client, split, rita, django_capture_on_commit_callbacks):
    client.force_login(rita)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("split_export", args=[split.uid]), {"format": "huggingface"})
    export = Export.objects.get()

    page = client.get(reverse("split_exports", args=[split.uid])).content.decode()
    answer = client.get(reverse("split_download", args=[export.uid]))

    assert reverse("split_download", args=[export.uid]) in page
    assert answer.headers["Content-Disposition"] == 'attachment; filename="arena-v1-huggingface.zip"'
    assert b"".join(answer.streaming_content)[:2] == b"PK"


def test_an_unknown_export_format_is_refused_with_those_there_are(client, split, rita):
    client.force_login(rita)

    answer = client.post(reverse("split_export", args=[split.uid]), {"format": "odd"})

    assert answer.status_code == 400
    assert "Known: croissant, csv" in answer.content.decode()
    assert Export.objects.count() == 0


def test_a_split_is_offered_the_formats_of_its_benchmark(client, split, rita):
    client.force_login(rita)

    html = client.get(reverse("split", args=[split.uid])).content.decode()
    answer = client.post(reverse("split_export", args=[split.uid]), {"format": "emodialogue"})

    assert 'value="speecheq"' in html
    assert 'value="emodialogue"' not in html
    assert answer.status_code == 400


def test_a_hub_without_a_name_or_token_variable_is_refused(client, split, rita):
    client.force_login(rita)
    address = reverse("split_export", args=[split.uid])

    for fields in ({"repository": "nobody"}, {"repository": "lab/arena", "token_env": "DATABASE_URL"}):
        answer = client.post(address, {"format": "csv", **fields})
        assert answer.status_code == 400

    assert Export.objects.count() == 0


def test_a_failed_export_is_tried_again_from_the_page(client, split, rita, django_capture_on_commit_callbacks):
    export = Export.objects.create(split=split, format="csv", state="failed", error="The disk was full.")
    client.force_login(rita)

    page = client.get(reverse("split_exports", args=[split.uid])).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("export_again", args=[export.uid]))

    assert "The disk was full." in page
    assert reverse("export_again", args=[export.uid]) in page
    export.refresh_from_db()
    assert (export.state, export.error) == ("done", "")


def test_an_unfinished_export_is_not_downloaded(client, split, rita):
    export = export_request(split=split, format="huggingface")
    client.force_login(rita)

    assert client.get(reverse("split_download", args=[export.uid])).status_code == 409


def test_an_export_whose_file_is_gone_says_so(client, split, rita):
    export = Export.objects.create(split=split, format="huggingface", state="done")
    client.force_login(rita)

    answer = client.get(reverse("split_download", args=[export.uid]))

    assert answer.status_code == 404
    assert "Ask for a new one" in answer.content.decode()


@pytest.mark.parametrize(("person", "status"), [("alice", 403), ("otto", 404), ("rita", 200)])
def test_downloads_are_for_researchers(  # noqa: PLR0917
    client, split, request, person, status, django_capture_on_commit_callbacks, rita
):
    client.force_login(rita)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("split_export", args=[split.uid]), {"format": "huggingface"})
    client.force_login(request.getfixturevalue(person))

    answer = client.get(reverse("split_download", args=[Export.objects.get().uid]))
    answer.close()

    assert answer.status_code == status


def test_the_counts_do_not_warn_before_anything_was_chosen(client, rita):
    client.force_login(rita)

    begun = client.get(reverse("split_counts"), {"seed": "1"}).content.decode()

    assert "Choose where the items come from" in begun
    assert "notice warn" not in begun


def _open_sections(html):
    return re.findall(r'<details class="more" open><summary>([^<]+)', html)


def test_the_form_unfolds_what_is_filled_in(client, rita):
    found = judged_round(items=1)
    client.force_login(rita)

    plain = client.get(reverse("split_new")).content.decode()
    counted = client.post(reverse("split_new"), {**_split_form(found, dev="0.1"), "count": "1"}).content.decode()
    wrong = client.post(reverse("split_new"), {**_split_form(found), "targets": "nonsense"}).content.decode()

    assert _open_sections(plain) == []
    assert "Sides" in _open_sections(counted)
    assert "How many of each" in _open_sections(wrong)
