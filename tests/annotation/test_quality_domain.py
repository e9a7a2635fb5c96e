"""Rules for judges and the figures about them, against values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.headphones import PASS, TONES, TRIALS, right_answers, sound_of, tones_of
from annotation.domain.quality import (
    Known,
    QualityRules,
    gold_check,
    gold_due,
    gold_low,
    heard_seconds,
    highest_slot,
    passed,
    repeat_due,
    share,
    slot_bias,
    spacing,
    straight_line,
    too_fast,
)
from annotation.domain.severity import (
    NOBODY_ELSE,
    GradeRow,
    Repeated,
    consistency,
    differences,
    drift,
    quadratic_kappa,
    severity,
)
from eqstudio.errors import InvalidInput


def test_rules_are_off_unless_asked_for():
    rules = QualityRules.from_dict({})

    assert rules == QualityRules()
    assert not any([rules.headphones, rules.training, rules.gold_first, rules.gold_every, rules.repeat_every])
    assert QualityRules.from_dict(QualityRules.recommended().as_dict()) == QualityRules.recommended()


@pytest.mark.parametrize(
    ("data", "key", "says"),
    [
        ({"golden": 3}, "golden", "known are"),
        ({"headphones": 1}, "headphones", "true or false"),
        ({"gold_first": -1}, "gold_first", "from 0 to 200"),
        ({"gold_first": True}, "gold_first", "whole number"),
        ({"gold_first": 2.0}, "gold_first", "whole number"),
        ({"gold_every": 1}, "gold_every", "at least 2"),
        ({"repeat_every": 1}, "repeat_every", "at least 2"),
        ({"gold_pass": 1.2}, "gold_pass", "between 0 and 1"),
        ({"fastest_share": "0.4"}, "fastest_share", "between 0 and 1"),
        ({"qualification_tries": 0}, "qualification_tries", "from 1 to 10"),
        ({"auto_pause": None}, "auto_pause", "true or false"),
    ],
)
def test_rules_name_the_key_that_is_wrong(data, key, says):
    with pytest.raises(InvalidInput, match=says) as raised:
        QualityRules.from_dict(data)

    assert raised.value.field == key
    assert key in raised.value.message


@pytest.mark.parametrize(
    ("known", "verdict", "grades", "right"),
    [
        (Known("keep", {"a": 3}), "keep", {"a": 3}, True),
        (Known("keep", {"a": 3}), "keep", {"a": 2}, True),
        (Known("keep", {"a": 3}), "keep", {"a": 1}, False),
        (Known("keep", {"a": 3}, 0), "keep", {"a": 2}, False),
        (Known("keep", {"a": 3, "b": 1}), "keep", {"a": 4, "b": 3}, False),
        (Known("keep", {"a": 3}), "reject", {"a": 3}, False),
        (Known("", {"a": 3}), "reject", {"a": 3}, True),
        (Known("", {"a": 3}), "reject", {}, False),
        (Known("reject", {"a": 1}), "reject", {}, True),
        (Known("reject", {"a": 1}), "reject", {"a": 4}, False),
        (Known("reject", {}), "keep", {"a": 1}, False),
        (Known("keep", {}), "keep", {"z": 1}, True),
    ],
)
def test_gold_is_right_when_verdict_and_grades_meet_the_known_answer(known, verdict, grades, right):
    assert gold_check(known, verdict=verdict, grades=grades).right is right


def test_gold_says_which_part_was_missed():
    found = gold_check(Known("keep", {"a": 3, "b": 1}), verdict="reject", grades={"a": 4, "b": 3})

    assert found.verdict is False
    assert found.grades == {"a": True, "b": False}
    assert gold_check(Known("", {"a": 3}), verdict="keep", grades={"a": 3}).verdict is None


def test_share_has_the_wilson_interval():
    found = share([True] * 8 + [False] * 2)

    assert found.value == 0.8
    assert (found.lo, found.hi) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    assert found.n == 10
    assert share([]).reason == "nothing was asked"


def test_gold_is_looked_at_over_the_latest_window_and_not_too_early():
    rules = QualityRules(gold_window=4, gold_pass=0.5)
    right, wrong = True, False

    assert gold_low([wrong, wrong, wrong], rules) is None  # three answers are too few
    assert gold_low([wrong, wrong, wrong, right], rules).value == 0.25
    assert gold_low([wrong, wrong, wrong, wrong, right, right, wrong, right], rules) is None
    onboarding = QualityRules(gold_first=2, gold_window=10, gold_pass=0.5)
    assert gold_low([wrong], onboarding) is None
    assert gold_low([wrong, wrong], onboarding).n == 2


@pytest.mark.parametrize(
    ("rights", "mark", "expected"),
    [([True, True, False], 2 / 3, True), ([True, False], 0.7, False), ([], 0.9, True), ([False], 0.0, True)],
)
def test_pass_marks_are_reached_or_missed(rights, mark, expected):
    assert passed(rights, mark) is expected


@given(st.integers(2, 60), st.integers(0, 500), st.text(max_size=8))
def test_spacing_lies_between_half_and_one_and_a_half(every, nth, seed):
    assert (every + 1) // 2 <= spacing(every, seed=seed, nth=nth) <= every + every // 2


def test_spacing_varies_and_averages_to_what_was_asked_for():
    found = [spacing(10, seed="person", nth=nth) for nth in range(2_000)]

    assert set(found) == set(range(5, 16))
    assert sum(found) / len(found) == pytest.approx(10, abs=0.25)
    assert found != [spacing(10, seed="another", nth=nth) for nth in range(2_000)]


def test_gold_comes_first_and_then_when_its_spacing_is_over():
    rules = QualityRules(gold_first=2, gold_every=10)
    wait = spacing(10, seed="s", nth=2)

    assert [gold_due(rules, since=0, given=given, seed="s") for given in (0, 1, 2)] == [True, True, False]
    assert not gold_due(rules, since=wait - 1, given=2, seed="s")
    assert gold_due(rules, since=wait, given=2, seed="s")
    assert not gold_due(QualityRules(gold_first=2), since=900, given=2, seed="s")


def test_repeats_have_a_spacing_of_their_own():
    rules = QualityRules(repeat_every=10)
    wait = spacing(10, seed="s:again", nth=0)

    assert not repeat_due(rules, since=wait - 1, given=0, seed="s")
    assert repeat_due(rules, since=wait, given=0, seed="s")
    assert not repeat_due(QualityRules(), since=900, given=0, seed="s")


def test_heard_seconds_count_what_overlaps_once():
    assert heard_seconds({"a": [[1, 3], [0, 2]], "b": [[0, 1]], "c": []}) == 4.0


@pytest.mark.parametrize(
    ("active", "heard", "wall", "impossible"),
    [
        (10, 20, 30, False),
        (8, 20, 30, False),  # exactly the share
        (7.9, 20, 30, True),  # less active time than 0.4 of the sound
        (10, 20, 9.9, True),  # twenty seconds of sound take ten at double speed
        (0, 0, 0, False),  # nothing is said to have been heard
    ],
)
def test_times_that_cannot_be_are_evidence(active, heard, wall, impossible):
    found = too_fast(active_s=active, heard_s=heard, wall_s=wall, fastest_share=0.4)

    assert (found is not None) is impossible
    assert too_fast(active_s=0, heard_s=heard, wall_s=0, fastest_share=0.0) is None


def test_straight_line_needs_equal_answers_on_different_items():
    same = [(item, ("keep", (3, 3))) for item in range(5)]

    assert straight_line(same, least=5)
    assert not straight_line(same, least=6)
    assert not straight_line([*same[:-1], (4, ("keep", (3, 2)))], least=5)
    assert not straight_line([*same[:-1], (0, ("keep", (3, 3)))], least=5)  # item 0 again, as a repetition
    assert not straight_line(same, least=0)


@pytest.mark.parametrize(("grades", "slot"), [((1, 3), 1), ((4, 2), 0), ((2, 2), None), ((1, 4, 3), 1), ((3,), None)])
def test_the_slot_with_the_highest_grade(grades, slot):
    assert highest_slot(grades) == slot


def test_slot_bias_is_an_exact_binomial_test():
    found = slot_bias([(0, 2)] * 18 + [(1, 2)] * 2)

    assert found[:4] == (0, 18, 20, 2)
    assert found.p == pytest.approx(2 * (190 + 20 + 1) / 2**20)
    assert slot_bias([(1, 2)] * 17 + [(0, 2)] * 3).p == pytest.approx(2 * (1140 + 190 + 20 + 1) / 2**20)
    assert slot_bias([(2, 3)] * 8).p == pytest.approx(3 / 3**8)
    assert slot_bias([(0, 2), (1, 2)]).p == 1.0
    assert slot_bias([]) is None


def rows(*grades):
    return [GradeRow(*grade) for grade in grades]


def test_severity_is_the_mean_difference_to_the_others():
    found = differences(
        rows((1, 1, 1, 4), (2, 1, 1, 2), (3, 1, 1, 3), (1, 1, 2, 3), (2, 1, 2, 3), (3, 1, 2, 3), (1, 2, 3, 1))
    )

    assert severity(found[1], seed=1).as_dict() == {"value": 0.75, "lo": None, "hi": None, "n": 2, "reason": None}
    assert severity(found[2], seed=1).value == -0.75
    assert severity(found[3], seed=1).value == 0.0


def test_severity_of_what_nobody_else_graded_is_undefined():
    assert severity(differences(rows((1, 1, 1, 4))).get(1), seed=1).reason == NOBODY_ELSE
    assert differences([]) == {}


def test_severity_draws_whole_items():
    # One item a grade above the other person and one below: with two items a bootstrap gives -1, 0 or 1.
    found = differences(rows((1, 1, 1, 3), (2, 1, 1, 2), (1, 2, 2, 2), (2, 2, 2, 3)))

    assert severity(found[1], seed=1).as_dict() == {"value": 0.0, "lo": -1.0, "hi": 1.0, "n": 2, "reason": None}
    assert severity(found[1], seed=1) == severity(found[1], seed=1)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=30))
def test_severity_of_two_people_is_each_others_opposite(pairs):
    table = []
    for item, (mine, theirs) in enumerate(pairs):
        table += rows((1, item, item, mine), (2, item, item, theirs))
    found = differences(table)
    mine, theirs = severity(found[1], seed=3, replicates=50), severity(found[2], seed=3, replicates=50)

    assert mine.value == pytest.approx(-theirs.value)
    assert -3 <= mine.lo <= mine.hi <= 3


def test_drift_tells_blocks_and_the_slope_per_hundred():
    table = []
    for item in range(20):
        table += rows((1, item, item, 2 if item < 10 else 3), (2, item, item, 2))
    found = drift(differences(table)[1], seed=1)

    assert [(block.first, block.last, block.severity.value) for block in found.blocks] == [(1, 10, 0.0), (11, 20, 1.0)]
    # Sxy 0.5 over Sxx 0.0665, with x in hundreds of judgements
    assert found.trend.value == pytest.approx(0.5 / 0.0665)
    assert 0 < found.trend.lo < found.trend.value < found.trend.hi


def test_drift_of_little_says_so():
    assert drift(None, seed=1).trend.reason == NOBODY_ELSE
    two = differences(rows((1, 1, 1, 3), (2, 1, 1, 2), (1, 2, 2, 2), (2, 2, 2, 3)))[1]
    assert drift(two, seed=1).trend.reason == "fewer than three judgements to draw a line through"


def test_consistency_compares_first_and_again():
    found = consistency(
        [
            Repeated(("keep", "keep"), ({"a": 1, "b": 2}, {"a": 1, "b": 2})),
            Repeated(("keep", "reject"), ({"a": 3, "b": 4}, {"a": 3, "b": 3})),
            Repeated(("keep", "reject"), ({"a": 3}, {})),
        ]
    )

    assert found.verdicts.value == pytest.approx(1 / 3)
    assert found.grades.value == 0.75
    assert found.grades.n == 4
    assert found.difference.value == 0.25
    assert found.kappa.value == pytest.approx(0.875)  # 1 - 0.25 / 2.0
    assert consistency([]).kappa.reason == "nothing was repeated"


def test_kappa_without_variation_is_undefined():
    found = consistency([Repeated(("keep", "keep"), ({"a": 3, "b": 3}, {"a": 3, "b": 3}))])

    assert found.kappa.reason == "no variation"
    turned_over = quadratic_kappa(np.array([1.0, 4.0]), np.array([4.0, 1.0]))
    assert turned_over.value == pytest.approx(-1.0)


def test_headphone_sounds_differ_by_6_db_and_one_is_turned_over():
    for trial in range(TRIALS):
        tones, sound = tones_of(7, trial), sound_of(7, trial)
        levels, sums = [], []
        for place in range(TONES):
            part = sound[place * 12_000 : place * 12_000 + 8_000]
            levels.append(float((part[:, 0] ** 2).mean()))
            sums.append(float((part.sum(axis=1) ** 2).mean()))
        loud = max(levels)

        assert levels.index(min(levels)) == tones.quieter
        assert min(levels) / loud == pytest.approx(10 ** (-6 / 10), rel=0.01)
        assert sums.index(min(sums)) == tones.turned != tones.quieter
        assert min(sums) == pytest.approx(0, abs=1e-12)
    assert len({len(sound_of(seed, trial)) for seed in range(3) for trial in range(TRIALS)}) == 1


def test_headphone_answers_are_scored_from_the_seed():
    right = [tones_of(7, trial).quieter for trial in range(TRIALS)]

    assert right_answers(7, right) == TRIALS
    assert right_answers(7, [(answer + 1) % TONES for answer in right]) == 0
    assert right_answers(7, [*right[:5], (right[5] + 1) % TONES]) == PASS


def test_every_place_is_the_answer_about_as_often():
    answers = [tones_of(seed, trial).quieter for seed in range(300) for trial in range(TRIALS)]

    assert [round(answers.count(place) / len(answers), 1) for place in range(TONES)] == [0.3, 0.3, 0.3]
