"""How near the words of a reply come to the reply that was written."""

import pytest
from sacrebleu.metrics import BLEU, CHRF

from evaluation.domain.text_metrics import TEXT_METRICS, rouge_l, signatures, text_figures, words_of

ENGLISH = "The cat sat on the mat."
CHINESE = "听起来很难受，要帮忙吗？"


def test_rouge_l_by_hand():
    assert rouge_l(words_of(ENGLISH), words_of("the cat on the mat")) == pytest.approx(10 / 11)
    assert rouge_l(["a"], []) == 0


@pytest.mark.parametrize(("text", "language"), [(ENGLISH, "en"), (CHINESE, "zh")])
def test_the_same_words_are_one_and_none_in_common_is_nothing(text, language):
    same = text_figures(text, text, language)
    assert [same[name] for name in TEXT_METRICS] == pytest.approx([1, 1, 1])
    assert set(text_figures(text, "", language).values()) == {0}
    assert text_figures("", text, language) == {}


def test_bleu_by_hand_with_smoothing_method_1():
    """Of five words and marks four are common, of four pairs two, of three triples one, of two fours none: 0.1."""
    found = text_figures("a b c d e", "a b c x e", "en")["bleu"]
    assert found == pytest.approx((4 / 5 * 2 / 4 * 1 / 3 * 0.1 / 2) ** 0.25)


def test_chinese_is_cut_into_characters():
    reply = "听起来真难受，要我帮忙吗？"
    whole = BLEU(tokenize="zh", smooth_method="floor", smooth_value=0.1, effective_order=True)
    assert text_figures(CHINESE, reply, "zh")["bleu"] == pytest.approx(
        whole.sentence_score(reply, [CHINESE]).score / 100
    )
    assert text_figures(CHINESE, reply, "zh")["bleu"] > 10 * text_figures(CHINESE, reply, "en")["bleu"]
    assert text_figures(CHINESE, reply, "zh")["chrf"] == pytest.approx(
        CHRF().sentence_score(reply, [CHINESE]).score / 100
    )


def test_signatures_tell_what_is_counted():
    told = signatures(["zh", "en", "zh"])
    assert list(told) == ["BLEU en", "BLEU zh", "chrF"]
    assert told["BLEU zh"].startswith("nrefs:1|case:mixed|eff:yes|tok:zh|smooth:floor[0.10]|version:")
