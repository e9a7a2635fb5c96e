"""Where a check fails is a setting of the batch, with the published defaults."""

from __future__ import annotations

import pytest
from django.urls import reverse

from eqstudio.errors import InvalidInput
from evaluation.demo.corpora import THRESHOLDS
from generation.domain.thresholds import DEFAULTS, NAMES, Thresholds, thresholds_read
from generation.models import Batch, QcReport
from generation.services import batch_create
from generation.threshold_fields import LABELS, PREFIX
from tests.generation.factories import CorpusFactory
from tests.generation.pipeline import advance, brief


def test_the_published_thresholds_are_the_defaults():
    assert (DEFAULTS.word_error, DEFAULTS.character_error, DEFAULTS.matched_lu) == (0.05, 0.05, 0.5)
    assert thresholds_read({}) == Thresholds()
    assert thresholds_read({"word_error": "0.1"}).changed() == {"word_error": 0.1}
    assert thresholds_read(THRESHOLDS).character_error == 0.20
    assert set(LABELS) == set(NAMES)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"wer": 0.1}, "There is no threshold 'wer'. Known: word_error,"),
        ({"word_error": "much"}, "The threshold word_error is a number, not 'much'."),
        ({"word_error": float("nan")}, "The threshold word_error is a number, not nan."),
        ({"word_error": 5}, "The threshold word_error is a share between 0 and 1, not 5."),
        ({"voice_ratio": -1}, "The threshold voice_ratio is not negative, as -1 is."),
        ({"shortest_s": 70}, "shortest_s (70) must be below longest_s (60)."),
        ({"pair_distance": 0.9}, "pair_distance (0.9) must not be above pair_doubtful (0.6)."),
    ],
)
@pytest.mark.django_db
def test_what_makes_no_sense_is_named_and_nothing_is_written(given, said):
    with pytest.raises(InvalidInput) as caught:
        batch_create(corpus=CorpusFactory(), briefs=[brief()], thresholds=given)

    assert caught.value.message.startswith(said)
    assert not Batch.objects.exists()


@pytest.mark.django_db
def test_a_batch_is_held_against_its_own_thresholds():
    strict = batch_create(
        corpus=CorpusFactory(), briefs=[brief()], thresholds={"pair_distance": 50, "pair_doubtful": 60}
    )

    dialogue = advance(strict.briefs.get().dialogues.get(), times=3)

    assert dialogue.state == "flagged"
    failed = QcReport.objects.filter(dialogue=dialogue, passed=False)
    assert {(each.check_name, each.threshold) for each in failed} == {("distinctiveness", 50.0)}
    assert "at least 50)" in failed[0].message


@pytest.mark.django_db
def test_the_form_offers_them_and_the_batch_says_what_was_set(client, rita):
    client.force_login(rita)
    address = reverse("batch_new")
    asked = {
        "corpus": "c1",
        "benchmark": "speecheq",
        "categories": ["speecheq/interpersonal_empathy"],
        "languages": ["en"],
        "per_category": 1,
        "text_provider": "fake",
        "voice_provider": "fake",
        "transcriber": "fake",
        "seed": 0,
        PREFIX + "word_error": "0.08",
    }

    form = client.get(address).content.decode()
    wrong = client.post(address, {**asked, PREFIX + "shortest_s": "90"}).content.decode()
    client.post(address, asked)

    assert 'value="0.05"' in form
    assert "shortest_s (90) must be below longest_s (60)." in wrong
    batch = Batch.objects.get()
    assert batch.thresholds == {"word_error": 0.08}
    page = client.get(reverse("batch", args=[batch.uid])).content.decode()
    assert page.count("set for this batch") == 1
