"""Figures in the theme and language of the page, as pictures and tables; the headline figure weighted to the split."""

import re

import numpy as np
import pytest
from django.urls import reverse
from django.utils import translation

from eqstudio.charts import DARK, INK, leaderboard_svg, png_of, svg_themed
from evaluation.domain.baselines import weighted_person
from evaluation.domain.resampling import Resampling
from evaluation.models import StudyItem
from evaluation.services import comparison_build, study_create
from evaluation.words import respondent_words
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.factories import (
    emosbench_study,
    model_respondent,
    right_answer,
    sit_through,
    speecheq_study,
    split_of,
    wrong_answer,
)
from tests.generation.factories import speecheq_dialogue

ROWS = [{"name": "one", "kind": "people", "value": 0.8, "lo": 0.7, "hi": 0.9}]


def drawn():
    return leaderboard_svg(ROWS, axis="Accuracy", chance=0.25)


def test_every_colour_of_a_drawing_has_one_for_the_dark():
    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]+)"', drawn())) - {"#888"}
    assert used <= set(DARK)
    themed = svg_themed(drawn())
    assert f'[fill="{INK}"]{{fill:{DARK[INK]}}}' in themed
    assert themed.replace(re.search("<style>.*</style>", themed)[0], "") == drawn()


def test_a_picture_is_a_png_with_paper_behind_it():
    found = png_of(drawn())
    assert found[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(found) > 2_000


@pytest.mark.parametrize(
    ("name", "whole", "words"),
    [
        ("people (mean)", True, "People: the mean person"),
        ("people (mean)", False, "people (mean)"),
        ("Person 12", False, "Person 12"),
        ("always grade 3", False, "always grade 3"),
        ("Person of Interest 3B", False, "Person of Interest 3B"),
    ],
)
def test_respondents_are_named_as_readers_name_them(name, whole, words):
    assert respondent_words(name, whole=whole) == words


def test_a_person_is_named_in_the_language_of_the_page():
    with translation.override("zh-hans"):
        assert respondent_words("Person 4") == translation.gettext("Person %(n)s") % {"n": "4"}


@pytest.fixture
def sat(db):
    study = speecheq_study(items=3)
    sit_through(study, user=annotator())
    sit_through(study, respondent=model_respondent(study), choose=wrong_answer)
    return study


def figure(client, study, chart, form, **query):
    return client.get(reverse("comparison_table", args=[study.uid, chart, form]), query)


def test_a_figure_on_the_page_follows_the_theme_and_a_saved_one_is_for_paper(client, sat):
    client.force_login(researcher())
    address = reverse("comparison_chart", args=[sat.uid, "leaderboard"])
    assert b"prefers-color-scheme" in client.get(address).content
    assert b"prefers-color-scheme" not in client.get(address, {"download": 1}).content


@pytest.mark.parametrize("chart", ["leaderboard", "forest", "items", "slots", "cost", "parts"])
def test_every_figure_leaves_as_a_picture(client, sat, chart):
    client.force_login(researcher())
    response = figure(client, sat, chart, "png")
    assert (response["Content-Type"], response.content[:4]) == ("image/png", b"\x89PNG")


def test_the_table_of_a_figure_says_what_is_not_known(client, sat):
    client.force_login(researcher())
    page = figure(client, sat, "cost", "html").content.decode()
    assert ("Seconds an answer" in page, "not known" in page, "Person 1" in page) == (True, True, True)


@pytest.mark.django_db
def test_the_confusion_has_a_table_too(client):
    study = emosbench_study(items=2)
    sit_through(study, respondent=model_respondent(study), choose=wrong_answer)
    client.force_login(researcher())
    assert "<table" in figure(client, study, "confusion", "html").content.decode()


def test_a_weighted_mean_counts_each_item_for_what_it_stands_for():
    matrix = np.array([[1.0, 0.0, np.nan], [1.0, 1.0, 0.0]])
    weights = np.array([3.0, 1.0, 2.0])
    resampling = Resampling.draw(["a", "b", "c"], 2, rng=np.random.default_rng(1))
    found = weighted_person(matrix, weights, resampling)
    assert found.value == pytest.approx((3 / 4 + 4 / 6) / 2)
    assert found.lo <= found.value <= found.hi
    even = weighted_person(matrix, np.ones(3), resampling)
    assert even.value == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert weighted_person(np.full((1, 3), np.nan), weights, resampling.alone()).reason == "nobody has answered"


@pytest.fixture
def uneven(db):
    """Two of four English items and the one Chinese item: weights 2 and 1."""
    dialogues = [speecheq_dialogue(language=language) for language in ("en", "en", "en", "en", "zh")]
    study = study_create(name="uneven", split=split_of(dialogues))
    for dialogue, probability in ((dialogues[0], 0.5), (dialogues[1], 0.5), (dialogues[4], 1.0)):
        StudyItem.objects.create(study=study, dialogue=dialogue, stratum=dialogue.language, probability=probability)
    return study


def in_english(record):
    return right_answer(record) if record.dialogue.language == "en" else wrong_answer(record)


def test_the_headline_figure_is_also_weighted_where_items_were_not_equally_likely(uneven, client):
    sit_through(uneven, respondent=model_respondent(uneven), choose=in_english)
    result = comparison_build(study=uneven)
    plain = next(row for row in result["respondents"] if row["name"] == "model")["estimates"]["acc_traj"]["value"]
    weighted = result["weighted"]["respondents"][0]["estimate"]["value"]
    assert (plain, weighted) == (pytest.approx(2 / 3), pytest.approx(4 / 5))
    assert (result["sample"]["items"], result["sample"]["whole"]) == (3, 5)
    client.force_login(researcher())
    page = client.get(reverse("comparison", args=[uneven.uid])).content.decode()
    assert ("Weighted to the whole split" in page, "a sample: 3 of 5" in page) == (True, True)


def test_nothing_is_weighted_where_everything_is_asked(sat):
    result = comparison_build(study=sat)
    assert (result["weighted"], result["sample"]) == (None, None)
