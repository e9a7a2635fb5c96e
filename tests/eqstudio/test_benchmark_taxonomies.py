"""Taxonomies and rubrics: complete, unique, bilingual, anchored."""

import re

import pytest

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.benchmarks.echomind_questions import ATTRIBUTES
from eqstudio.benchmarks.speecheq import SpeechEQ, subscale_key, subscale_label
from eqstudio.errors import UnknownAlias
from tests.eqstudio.benchmark_items import EVERY_CATEGORY, LANGUAGES

HAN = re.compile(r"[\u4e00-\u9fff]")
SIZES = {"speecheq": (15, 5, 0), "emosbench": (10, 4, 0), "echomind": (39, 12, 3)}
SUB_TASKS = ["bap", "iaa", "est", "eca", "ecm", "epa", "sse", "pmb", "crd", "var"]
REASONS = ["unnatural", "wrong_emotion", "text_gives_away", "audio_fault", "off_category", "unsafe", "other"]


def is_text(text, language):
    return bool(text.strip()) and bool(HAN.search(text)) == (language == "zh")


def test_registry_holds_the_three_benchmarks_and_names_them():
    assert list(benchmarks) == ["echomind", "emosbench", "speecheq"]
    with pytest.raises(UnknownAlias) as caught:
        benchmark_get("speechq")
    assert caught.value.known == ["echomind", "emosbench", "speecheq"]


@pytest.mark.parametrize("alias", benchmarks)
def test_taxonomy_has_the_published_size(alias):
    categories = benchmark_get(alias).categories
    levels = {category.level for category in categories} - {""}
    assert (len(categories), len({c.group for c in categories}), len(levels)) == SIZES[alias]
    assert len({category.key for category in categories}) == len(categories)


@pytest.mark.parametrize(("alias", "key", "language"), EVERY_CATEGORY)
def test_category_is_told_in_both_languages(alias, key, language):
    category = benchmark_get(alias).category(key)
    assert is_text(category.label[language], language)
    assert is_text(category.group_label[language], language)
    assert is_text(category.description[language], language)
    assert not category.level or is_text(category.level_label[language], language)


@pytest.mark.parametrize(("alias", "key", "language"), EVERY_CATEGORY)
def test_rubric_has_four_distinct_anchored_grades(alias, key, language):
    rubric = benchmark_get(alias).rubric(key)
    anchors = [level.anchor[language] for level in rubric]
    assert [level.grade for level in rubric] == [1, 2, 3, 4]
    assert all(is_text(anchor, language) and "{" not in anchor for anchor in anchors)
    assert len(set(anchors)) == 4
    assert len({level.name[language] for level in rubric}) == 4


@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_categories_share_an_anchor(alias, language):
    benchmark = benchmark_get(alias)
    anchors = [level.anchor[language] for c in benchmark.categories for level in benchmark.rubric(c.key)]
    assert len(set(anchors)) == len(anchors)


@pytest.mark.parametrize("alias", benchmarks)
def test_review_form_asks_in_both_languages_and_lists_the_reasons(alias):
    form = benchmark_get(alias).review_form
    assert [reason.code for reason in form.reasons] == REASONS
    texts = [form.question, *(reason.label for reason in form.reasons)]
    assert all(is_text(text[language], language) for text in texts for language in LANGUAGES)


@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("language", LANGUAGES)
def test_instructions_tell_how_to_answer(alias, language):
    text = benchmark_get(alias).instructions(language)
    asked = {"speecheq": ("letter", "字母"), "emosbench": ("number", "数字"), "echomind": ("letter", "字母")}[alias]
    assert is_text(text, language)
    assert asked[language == "zh"] in text


def test_headline_is_one_of_the_metrics_and_names_are_unique():
    for alias in benchmarks:
        names = [metric.name for metric in benchmark_get(alias).metrics]
        assert benchmark_get(alias).headline in names
        assert len(set(names)) == len(names)


def test_category_that_does_not_exist_is_a_key_error():
    for alias in benchmarks:
        with pytest.raises(KeyError):
            benchmark_get(alias).category("nonsense")


def test_subscale_label_and_key_are_inverse_and_follow_the_slug_rule():
    label = "Self-Perception - Emotional Self-Awareness"
    assert subscale_key(label) == "self_perception_emotional_self_awareness"
    assert subscale_label("self_perception_emotional_self_awareness") == label
    assert all(subscale_key(subscale_label(c.key)) == c.key for c in SpeechEQ.categories)
    with pytest.raises(KeyError):
        subscale_key("Self-Perception - Charm")


def test_emosbench_has_the_ten_sub_tasks_in_order():
    assert [category.key for category in benchmark_get("emosbench").categories] == SUB_TASKS


def test_every_attribute_has_an_alternative_of_its_own_dimension():
    for key, entry in ATTRIBUTES.items():
        assert entry["alternative"] != key
        assert ATTRIBUTES[entry["alternative"]]["group"] == entry["group"]
