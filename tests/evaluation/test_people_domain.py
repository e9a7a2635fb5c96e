"""Plans, the way through a sitting, exclusion rules and counts that may be published: pure functions."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqstudio.errors import InvalidInput
from evaluation.domain.cells import cells_published
from evaluation.domain.demographics import answers_read
from evaluation.domain.exclusions import RULES, Given, Sat, finding
from evaluation.domain.flow import Stage, Walked, stage_next, stages_of
from evaluation.domain.plan import items_choose, plan_build
from evaluation.domain.protocol import Consent, ExclusionRule, Execution, Protocol, Recruitment

FULL = Protocol(
    recruitment=Recruitment(eligibility="adults", demographics=("age_band",), consent=Consent(text={"en": "Agree?"})),
    execution=Execution(no_ai_statement=True, headphones="required"),
)


@given(
    items=st.integers(0, 40),
    attention=st.integers(0, 6),
    repeats=st.integers(0, 20),
    practice=st.integers(0, 3),
    seed=st.integers(),
)
def test_plan_asks_everything_once_and_repeats_late(items, attention, repeats, practice, seed):
    own = list(range(items))
    plan = plan_build(
        own,
        practice=range(100, 100 + practice),
        attention=range(200, 200 + attention),
        repeats=repeats,
        rng=Random(seed),
    )

    assert [one for one, part in plan if part == ""] == own
    assert sorted(one for one, part in plan if part == "attention") == list(range(200, 200 + attention))
    assert [part for _one, part in plan[:practice]] == ["practice"] * practice
    assert len(set(plan)) == len(plan)
    again = [place for place, (_one, part) in enumerate(plan) if part == "repeat"]
    assert len(again) == min(repeats, items // 2)
    for place in again:
        assert place - plan.index((plan[place][0], "")) > items // 2
    if items:
        assert plan[practice][1] == ""


def test_items_that_few_were_asked_go_first_and_keep_the_persons_order():
    assert items_choose([1, 2, 3, 4], size=2, asked={1: 3, 2: 1, 3: 2, 4: 1}) == [2, 4]


def test_of_twins_one_is_asked_while_others_are_left():
    assert items_choose([1, 2, 3], size=2, twins={1: "a", 2: "a"}) == [1, 3]
    assert items_choose([1, 2], size=2, twins={1: "a", 2: "a"}) == [1, 2]


def test_barred_items_are_left_out():
    assert items_choose([1, 2, 3], size=None, barred={2}) == [1, 3]


def test_the_way_through_a_full_protocol():
    walk = [
        Walked(),
        Walked(eligible=True),
        Walked(eligible=True, consented=True),
        Walked(eligible=True, consented=True, no_ai=True),
        Walked(eligible=True, consented=True, no_ai=True, headphones=True),
        Walked(eligible=True, consented=True, no_ai=True, headphones=True, instructed=True),
        Walked(eligible=True, consented=True, no_ai=True, headphones=True, instructed=True, examined=True),
        Walked(
            eligible=True, consented=True, no_ai=True, headphones=True, instructed=True, examined=True, detailed=True
        ),
    ]

    assert [stage_next(FULL, one) for one in walk] == list(Stage)


def test_without_a_consent_text_no_consent_is_asked():
    assert stages_of(Protocol()) == (Stage.INSTRUCTIONS, Stage.EXAM, Stage.OVER)


def test_no_question_without_consent_whatever_else_was_done():
    assert stage_next(FULL, Walked(eligible=True, no_ai=True, headphones=True, instructed=True)) is Stage.CONSENT


def test_who_is_screened_out_is_through():
    assert stage_next(FULL, Walked(eligible=False, over=True)) is Stage.OVER


def answer(item, value="A", **fields):
    return Given(item, "s4", value, fields.pop("chosen", value), offered=2, **fields)


@pytest.mark.parametrize(
    ("rule", "sat", "value", "flagged"),
    [
        (
            "attention_failed",
            Sat((answer(1, part="attention", right=False), answer(2, part="attention", right=True))),
            0.5,
            True,
        ),
        ("attention_failed", Sat((answer(1, part="attention", right=True),)), 0.0, False),
        ("too_fast", Sat((answer(1, seconds=3.0, sound=9.0), answer(2, seconds=12.0, sound=9.0))), 0.5, True),
        ("too_fast", Sat((answer(1, seconds=9.0, sound=9.0),)), 0.0, False),
        ("straight_lined", Sat(tuple(answer(n) for n in range(12))), 12.0, True),
        ("straight_lined", Sat(tuple(answer(n, "AB"[n % 2]) for n in range(40))), 1.0, False),
        ("same_slot", Sat(tuple(answer(n) for n in range(10))), 1.0, True),
        ("same_slot", Sat(tuple(answer(n, "A" if n else "B") for n in range(10))), 0.9, False),
        ("inconsistent_repeats", Sat((answer(1, chosen="x"), answer(1, part="repeat", chosen="y"))), 1.0, True),
        (
            "inconsistent_repeats",
            Sat((answer(1, "A", chosen="x"), answer(1, "B", part="repeat", chosen="x"))),
            0.0,
            False,
        ),
        ("headphones_failed", Sat(headphones=(3, False)), 1.0, True),
        ("headphones_failed", Sat(headphones=(5, True)), 0.0, False),
        ("incomplete", Sat(planned=4, done=3), 0.75, True),
        ("incomplete", Sat(planned=4, done=4), 1.0, False),
        ("exposed_before", Sat(exposed=1, planned=4), 1.0, True),
        ("exposed_before", Sat(planned=4), 0.0, False),
        ("can_read_key", Sat(key_access=True), 1.0, True),
        ("can_read_key", Sat(), 0.0, False),
    ],
)
def test_each_rule_flags_whom_it_is_for(rule, sat, value, flagged):
    found = finding(rule, None, sat)

    assert (found.value, found.flagged) == (value, flagged)


@pytest.mark.parametrize(
    "rule",
    [
        "attention_failed",
        "too_fast",
        "straight_lined",
        "same_slot",
        "inconsistent_repeats",
        "headphones_failed",
        "incomplete",
    ],
)
def test_a_rule_that_cannot_be_tested_flags_nobody_and_says_why(rule):
    found = finding(rule, 0.0, Sat())

    assert (found.value, found.flagged) == (None, False)
    assert found.reason


def test_every_rule_a_protocol_may_name_can_be_tested():
    assert set(RULES) == set(ExclusionRule.__args__)


def test_the_threshold_is_the_protocols():
    sat = Sat((answer(1, part="attention", right=False), answer(2, part="attention", right=True)))

    assert not finding("attention_failed", 0.6, sat).flagged


def test_a_grade_one_step_off_is_met_and_the_same_again():
    def grade(number, **fields):
        return Given(
            1, "grade", str(number), str(number), number=number, gold=3.0, graded=True, right=number == 3, **fields
        )

    assert finding("attention_failed", None, Sat((grade(2.0, part="attention"),))).value == 0.0
    assert finding("attention_failed", None, Sat((grade(1.0, part="attention"),))).value == 1.0
    assert finding("inconsistent_repeats", None, Sat((grade(2.0), grade(3.0, part="repeat")))).value == 0.0


def test_practice_and_attention_items_are_no_evidence_of_the_other_rules():
    aside = tuple(answer(n, part="attention") for n in range(20))

    assert finding("same_slot", None, Sat(aside)).value is None


def test_small_counts_are_hidden_and_none_follows_from_the_total():
    assert cells_published({"a": 9, "b": 7, "c": 2}) == {"a": 9, "b": None, "c": None}
    assert cells_published({"a": 9, "b": 7, "c": 2, "d": 1}) == {"a": 9, "b": 7, "c": None, "d": None}
    assert cells_published({"a": 5}) == {"a": 5}


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 20), max_size=6))
def test_no_published_count_is_small(counts):
    shown = cells_published(counts)

    assert set(shown) == set(counts)
    assert all(n is None or n >= 5 for n in shown.values())
    assert len(counts) < 2 or list(shown.values()).count(None) != 1


def test_answers_about_oneself_are_optional_and_checked():
    assert answers_read({"age_band": "25-34", "hobby": " chess "}, ("age_band", "hobby", "gender")) == {
        "age_band": "25-34",
        "hobby": "chess",
    }
    with pytest.raises(InvalidInput, match="was not offered"):
        answers_read({"age_band": "ninety"}, ("age_band",))
    with pytest.raises(InvalidInput, match="was not asked"):
        answers_read({"gender": "woman"}, ("age_band",))
