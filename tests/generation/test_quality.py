"""Which clips are fit to be judged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.domain.acoustics import measure
from generation.domain.normalise import normalise
from generation.domain.numerals import number_value
from generation.domain.quality import (
    Heard,
    cer,
    finding_matched,
    findings,
    letter_error,
    pair_findings,
    wer,
)
from generation.domain.thresholds import Thresholds
from tests.audio import RATE, clipped, cut_off, silence, speechlike

GOOD = measure(speechlike(seconds=2), RATE)
LINE = "I am sorry, that must have been hard."


def failed(measures, **rest):
    checked = findings(measures=measures, **{"text": LINE, "language": "en", "heard": Heard(LINE), **rest})
    return [finding.check_name for finding in checked if not finding.passed]


def test_a_good_clip_passes_every_check():
    checked = findings(measures=GOOD, text=LINE, language="en", heard=Heard("I'm sorry that must've been hard"))
    assert [(finding.check_name, finding.passed) for finding in checked] == [
        ("decodable", True),
        ("duration", True),
        ("silence", True),
        ("clipping", True),
        ("tail", True),
        ("language", True),
        ("transcript", True),
    ]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (speechlike(seconds=0.2)[1600:4400], ["duration", "tail"]),
        (silence(), ["silence", "tail"][:1]),
        (0.0005 * speechlike(), ["silence"]),
        (clipped(speechlike()), ["clipping"]),
        (cut_off(speechlike(), keep=0.78), ["tail"]),
    ],
    ids=["too short", "silent", "too quiet", "clipped", "cut off"],
)
def test_a_planted_defect_is_found(samples, expected):
    assert failed(measure(samples, RATE)) == expected


def test_a_long_clip_names_the_upper_limit():
    (finding,) = [
        found
        for found in findings(measures=measure(speechlike(seconds=61), RATE), text=LINE, language="en")
        if not found.passed
    ]
    assert (finding.check_name, finding.threshold) == ("duration", 60.0)


@pytest.mark.parametrize(
    ("heard", "passed"),
    [(LINE, True), ("i am sorry that must have been HARD", True), ("I am sorry that must be hard", False), ("", False)],
)
def test_transcript_check_allows_five_percent(heard, passed):
    finding = findings(measures=GOOD, text=LINE, language="en", heard=Heard(heard))[-1]
    assert (finding.check_name, finding.passed, finding.threshold) == ("transcript", passed, 0.05)


def test_transcript_of_a_line_without_words_is_undefined_not_perfect():
    finding = findings(measures=GOOD, text="…", language="en", heard=Heard("thank you"))[-1]
    assert (finding.passed, finding.value) == (False, None)


def test_no_transcriber_means_no_transcript_check():
    checked = findings(measures=GOOD, text=LINE, language="en", heard=None)
    assert "transcript" not in [finding.check_name for finding in checked]


@pytest.mark.parametrize(
    ("heard", "slack", "passed"),
    [
        ("I baked them from the flower to the oven", 0.0, False),
        ("I baked them from the flower to the oven", 0.1, True),
        ("I baked them from the flour", 0.1, False),
        ("", 0.1, False),
    ],
)
def test_a_word_that_sounds_alike_passes_within_the_slack_of_the_transcriber(heard, slack, passed):
    text = "I baked them, from the flour to the oven."
    finding = findings(measures=GOOD, text=text, language="en", heard=Heard(heard, slack=slack))[-1]
    assert finding.passed is passed
    assert finding.value > finding.threshold == 0.05


def test_chinese_that_sounds_alike_passes_within_the_slack():
    heard = Heard("一声说，偏自上有个小影子。", slack=0.1)
    finding = findings(measures=GOOD, text="医生说，片子上有个小影子。", language="zh", heard=heard)[-1]
    assert (finding.passed, finding.value, finding.detail["letters"]) == (True, pytest.approx(4 / 11), 0.0)


def test_a_compound_written_apart_is_no_letter_error():
    assert letter_error("the boathouse", "the boat house", "en") == 0.0


def test_chinese_is_held_to_characters():
    finding = findings(measures=GOOD, text="没关系，谁都会犯错。", language="zh", heard=Heard("沒關係 誰都會犯錯"))[-1]
    assert (finding.passed, finding.value, finding.detail["metric"]) == (True, 0.0, "cer")


def test_thresholds_are_a_parameter():
    strict = Thresholds(word_error=0.0, character_error=0.0)
    finding = findings(measures=GOOD, text="没关系", language="zh", heard=Heard("没关西"), thresholds=strict)[-1]
    assert finding.passed is False
    assert finding.value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("reference", "heard", "expected"),
    [
        ("Dr. Smith won't pay $20, I'm sure!", "doctor smith will not pay 20 dollars i am sure", 0.0),
        ("Up you go, one, two, three!", "up you go 1-2-3.", 0.0),
        ("the cat sat", "the cat sat", 0.0),
        ("the cat sat", "the cat", 1 / 3),
        ("", "a b", None),
        ("?!", "a b", None),
    ],
)
def test_wer(reference, heard, expected):
    assert wer(reference, heard) == (pytest.approx(expected) if expected is not None else None)


def test_cer_folds_script_digits_and_punctuation():
    assert cer("他有42本书，两千零五块。", "他有四十二本書 2005塊") == 0.0


@pytest.mark.parametrize(
    ("run", "figures"),
    [
        ("零", "0"),
        ("七", "7"),
        ("十", "10"),
        ("四十二", "42"),
        ("一百零五", "105"),
        ("一百一十", "110"),
        ("两千", "2000"),
        ("二〇二五", "2025"),
        ("三万五千", "35000"),
        ("3万5千", "35000"),
        ("一亿零三", "100000003"),
        ("一亿二千万", "120000000"),
        ("3亿5000万", "350000000"),
        ("一万亿", "1000000000000"),
        ("一亿三千万零二百", "130000200"),
        ("三千五", "3500"),
        ("一万五", "15000"),
        ("一百二", "120"),
        ("三千零五", "3005"),
        ("二十五", "25"),
        ("一万二千三百四", "12340"),
        ("9" * 5000 + "万", "9" * 5000 + "万"),
        ("13800", "13800"),
        ("007", "007"),
    ],
)
def test_chinese_numbers_become_figures(run, figures):
    assert number_value(run) == figures


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("I’m twenty-one.", "i am 21", "en"),
        ("Fifty percent, OKAY?", "50% ok", "en"),
        ("ＯＫ, it costs ２０００ dollars", "okay it costs two thousand dollars", "en"),
        ("Come at nine thirty.", "come at 9:30", "en"),
        ("Ahhh! Haha, no way.", "no way", "en"),
        ("我今年二十一岁。", "我今年21歲", "zh"),
        ("二〇二五年，百分之五十", "2025年50％", "zh"),
        ("三点五公里", "3.5公里", "zh"),
        ("一千二百人，三万五千元", "1,200人，3万5千元", "zh"),
        ("我有一亿二千万", "我有1.2亿", "zh"),
        ("三点五万人", "35000人", "zh"),
        ("十点十五分见", "10:15见", "zh"),
        ("十点十五见", "10：15见", "zh"),
        ("十点见", "10:00见", "zh"),
        ("月薪一万五", "月薪15000", "zh"),
        ("（笑）她说：没关系！", "他說沒關係", "zh"),
        ("ＡＢＣ公司", "abc公司", "zh"),
    ],
)
def test_what_sounds_alike_compares_alike(one, other, language):
    assert normalise(one, language) == normalise(other, language)


@given(st.text(max_size=60), st.sampled_from(["en", "zh"]))
def test_normalising_twice_changes_nothing_more_for_its_own_alphabet(text, language):
    once = normalise(text, language)
    assert once == once.strip()
    assert wer(text, text, language) in (None, 0.0)


def test_a_pair_that_differs_passes():
    high = measure(speechlike(hz=180, spread=3, seconds=2.4), RATE)
    low = measure(speechlike(hz=140, spread=0.5, seconds=1.9), RATE)
    assert [(finding.check_name, finding.passed) for finding in pair_findings(first=high, second=low)] == [
        ("distinctiveness", True),
        ("loudness match", True),
    ]


def test_a_pair_of_equals_is_not_distinct():
    distinct, match = pair_findings(first=GOOD, second=GOOD)
    assert (distinct.passed, distinct.value, match.passed) == (False, 0.0, True)
    assert set(distinct.detail.values()) == {0.0}


def test_a_pair_that_only_differs_in_loudness_is_told():
    match = pair_findings(first=GOOD, second=measure(0.3 * speechlike(seconds=2), RATE))[1]
    assert match.passed is False
    assert match.value == pytest.approx(10.46, abs=0.1)


def test_a_whisper_beside_a_shout_is_no_accident():
    match = pair_findings(first=GOOD, second=measure(0.3 * speechlike(seconds=2), RATE), wanted_db=10.0)[1]
    assert match.passed is True
    assert match.message == (
        "As they were made, the two deliveries lie 10.5 LU apart in loudness; 10.0 were asked for (at most 6 off)."
    )


@pytest.mark.parametrize(("levels", "passed"), [([-23.0, -23.2, -22.9], True), ([-23.0, -24.0], False)])
def test_copies_of_a_line_are_to_be_equally_loud(levels, passed):
    finding = finding_matched(levels=levels)
    assert (finding.passed, finding.threshold) == (passed, 0.5)
    assert f"lie {max(levels) - min(levels):.2f} LU apart (at most 0.5)" in finding.message
