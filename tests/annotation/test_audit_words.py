"""What a report of an audit shows is what was written, and what shuts its gate is told in words."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.selectors import split_audit
from annotation.selectors.audit import CHECKS
from annotation.services import audit_make, audit_request
from annotation.words_curation import SHUT_LABELS, shut_words
from generation.models import Dialogue, Variant
from tests.annotation.factories import split_of
from tests.generation.factories import CorpusFactory, emosbench_dialogue

WRITTEN = ("Shall we walk, at last?", "SHALL we walk at last")


@pytest.fixture
def twins(db):
    """Two dialogues with one title, whose words are the same but for case."""
    corpus = CorpusFactory()
    for text in WRITTEN:
        dialogue = emosbench_dialogue(corpus=corpus)
        Dialogue.objects.filter(pk=dialogue.pk).update(title="A Walk, at Last")
        Variant.objects.filter(turn__dialogue=dialogue).update(text=text)
    return split_of(items=0, corpus=corpus, name="twins")


def test_titles_and_words_are_shown_as_they_were_written(twins):
    report = split_audit(split=twins)

    keys = {check["name"]: [group["key"] for group in check["groups"]] for check in report["checks"]}
    assert keys["titles"] == ["A Walk, at Last"]
    (shown,) = keys["texts"]
    assert shown in WRITTEN  # that of the item whose code comes first
    assert {edge["evidence"] for edge in report["worst"].values()} == {shown}


def test_the_page_names_both_items_of_a_pair_and_the_gate_its_reason(client, rita, twins):
    audit = audit_make(audit_id=audit_request(split=twins).pk, now=timezone.now())
    client.force_login(rita)

    report = client.get(reverse("audit", args=[audit.uid])).content.decode()
    page = client.get(reverse("split", args=[twins.uid])).content.decode()

    for uid in twins.items.values_list("dialogue__uid", flat=True):
        assert reverse("dialogue", args=[uid]) in report
    assert "A Walk, at Last</a>" in report
    assert "The latest audit found: Dialogues with the same words" in page


def test_against_another_split_the_report_is_about_the_items_of_this_one(twins):
    emosbench_dialogue(corpus=twins.corpus, external_id="only there")
    other = split_of(items=0, corpus=twins.corpus, name="other")

    report = split_audit(split=twins, against=other)

    here = set(twins.items.values_list("dialogue__uid", flat=True))
    assert set(report["worst"]) == here
    assert [set(cluster["items"]) for cluster in report["clusters"]] == [here]


def test_every_reason_of_an_audit_has_words():
    assert {check.name for check in CHECKS if check.blocks} <= set(SHUT_LABELS)
    assert shut_words("shortcut: longer") == "always the longer one"
    assert shut_words("texts in other-v2") == "Dialogues with the same words (with other-v2)"
    assert shut_words("text only") == "the words alone give the key away"
