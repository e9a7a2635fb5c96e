"""Checks and judges of writing: what they refuse, and that letters are read back in the order they were given out."""

from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.benchmarks.base import BriefSpec, Prompt
from eqstudio.benchmarks.emosbench_writing import GRADES, concordance
from eqstudio.benchmarks.leaks import LeakLine, TextGuesses, delivery_words, leak_count, leak_prompt, orders_drawn
from eqstudio.benchmarks.stages import Criterion, Written, faults, letters_drawn, prompt_again
from eqstudio.benchmarks.variety import Dealer, cast_draw, cast_read
from eqstudio.benchmarks.wording import (
    feeling_words,
    in_language,
    physical_kinds,
    telling_words,
    vague_words,
    word_count,
)
from eqstudio.benchmarks.writing import direction_checks


def brief_of(alias, language="en", category=None, seed=0):
    benchmark = benchmark_get(alias)
    chosen = benchmark.category(category) if category else benchmark.categories[0]
    dealer = Dealer(lambda _pool: {}, Random(seed))
    cast_draw(dealer, benchmark, category=chosen.key, language=language, valence="", setting="")
    cast = cast_read({drawn.kind: drawn.value for drawn in dealer.drawn})
    return BriefSpec(chosen, language, cast.valence, cast.setting, cast=cast)


def written(alias, brief, *, until=None):
    """What the stages before ``until`` write in an example."""
    so_far = {}
    for stage in benchmark_get(alias).stages:
        if stage.name == until:
            break
        value = stage.schema.model_validate(stage.prompt(brief, so_far, Random(1)).sample())
        chosen = tuple(piece.key for piece in stage.pieces(value, brief))
        if stage.judge:
            prompt = stage.judge.prompt(value, brief, so_far, Random(2))
            verdict = stage.judge.schema.model_validate(prompt.sample())
            chosen = stage.judge.read(value, verdict, brief, so_far, Random(2)).chosen
        so_far[stage.name] = Written(value, chosen)
    return so_far


def checked(alias, name, change, *, language="en", category=None):
    """The names of the criteria that fail once ``change`` was made to an example of a stage."""
    brief = brief_of(alias, language, category)
    so_far = written(alias, brief, until=name)
    stage = next(stage for stage in benchmark_get(alias).stages if stage.name == name)
    draft = stage.prompt(brief, so_far, Random(1)).sample()
    change(draft)
    value = stage.schema.model_validate(draft)
    return {criterion.name for criterion in stage.checked(value, brief, so_far) if not criterion.passed}


def judged(alias, name, change):
    """The verdict on an example of a stage once ``change`` was made to the judge's answer."""
    brief = brief_of(alias)
    so_far = written(alias, brief, until=name)
    stage = next(stage for stage in benchmark_get(alias).stages if stage.name == name)
    value = stage.schema.model_validate(stage.prompt(brief, so_far, Random(1)).sample())
    answer = stage.judge.prompt(value, brief, so_far, Random(3)).sample()
    change(answer)
    return stage.judge.read(value, stage.judge.schema.model_validate(answer), brief, so_far, Random(3))


@pytest.mark.parametrize("alias", benchmarks)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_examples_of_every_category_pass_every_check_and_make_a_script(alias, language):
    benchmark = benchmark_get(alias)
    for category in benchmark.categories:
        brief = brief_of(alias, language, category.key)
        so_far = written(alias, brief)
        for stage in benchmark.stages:
            assert faults(stage.checked(so_far[stage.name].value, brief, so_far)) == ""
        assembled = benchmark.assemble(brief, so_far)
        spec = benchmark.script_read(benchmark.script_schema.model_validate(assembled.script), brief)
        assert spec.title


@pytest.mark.parametrize("alias", benchmarks)
def test_prompts_are_the_same_for_the_same_seed_and_name_their_version(alias):
    brief = brief_of(alias)
    so_far = written(alias, brief)
    for stage in benchmark_get(alias).stages:
        first, again = (stage.prompt(brief, so_far, Random(5)) for _time in range(2))
        assert first == again
        assert first.version.startswith(alias)


@pytest.mark.parametrize(
    ("field", "text", "failed"),
    [
        ("title", "How Tom should respond", {"scene tells nothing"}),
        ("context", "Here her self-regard is at stake.", {"scene tells nothing"}),
        ("context", "两个人在厨房里。", {"scene language"}),
    ],
)
def test_a_scene_that_tells_the_key_or_speaks_another_language_is_refused(field, text, failed):
    assert checked("speecheq", "scene", lambda draft: draft.update({field: text})) == failed


def test_a_scene_with_other_people_is_refused():
    assert checked("speecheq", "scene", lambda draft: draft["speaker2"].update(name="Alex")) == {"cast"}
    assert checked("speecheq", "scene", lambda draft: draft["speaker1"].update(gender=_other(draft))) == {"cast"}


def _other(draft):
    return "male" if draft["speaker1"]["gender"] == "female" else "female"


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({"s4": "That is wonderful news for you."}, {"s4 neutral words"}),
        ({"s6": "You told me about that!"}, {"s6 neutral words"}),
        ({"s2": "Yes"}, {"line length"}),
        ({"s2": "The very same words.", "s3": "the very same words"}, {"lines differ"}),
        ({"s1": "他们 答应了。"}, {"line language"}),
    ],
)
def test_lines_that_are_not_neutral_or_not_speech_are_refused(change, failed):
    assert checked("speecheq", "lines", lambda draft: draft.update(change)) == failed


def test_lines_in_chinese_are_held_against_chinese_words():
    assert checked("speecheq", "lines", lambda draft: draft.update(s4="太好了，恭喜你。"), language="zh") == {
        "s4 neutral words"
    }


@pytest.mark.parametrize(
    ("instruction", "failed"),
    [
        ("Speak in a gentle way, slowly, with a long breath.", {"no vague words"}),
        ("Say it with meaning.", {"physical directions"}),
        ("Slow the pace.", {"physical directions"}),
        ("语速放慢，句尾压低。", {"direction language", "physical directions"}),
        ("Slow the pace and let the breath go before the last word.", set()),
    ],
)
def test_directions_say_two_bodily_things_and_judge_nothing(instruction, failed):
    assert checked("speecheq", "directions", lambda draft: draft["s3"].update(instruction=instruction)) == failed


@given(st.lists(st.sampled_from(["slow pace", "low pitch", "short breath", "tight jaw", "a pause"]), unique=True))
def test_two_kinds_of_bodily_words_are_enough_and_fewer_are_not(parts):
    criteria = {one.name: one.passed for one in direction_checks({"s1": ", ".join(parts) or "words"}, "en")}
    assert criteria["physical directions"] == (len(parts) >= 2)


def test_a_delivery_too_close_to_the_resonant_one_is_left_out_and_none_left_is_refused():
    def close(draft):
        for name in ("dissonant_2", "dissonant_3"):
            draft["s6"][name] = {**draft["s6"]["resonant"], "pace": "normal"}

    assert checked("speecheq", "deliveries", close) == {"dissonant usable"}


def test_the_judge_of_deliveries_must_find_the_resonant_one_fitting_and_ahead():
    def level(answer):
        for letter in "ABC":
            answer["s4"][letter] = {"fits": 4, "damages": 3}

    failed = {one.name for one in judged("speecheq", "deliveries", level).criteria if not one.passed}
    assert failed == {"s4 resonant leads"}


def test_the_most_damaging_persona_over_both_lines_makes_the_pair():
    def swapped(answer):
        for line in ("s4", "s6"):
            for letter in "ABC":
                if answer[line][letter]["fits"] < 5:
                    answer[line][letter]["damages"] = 8 - answer[line][letter]["damages"]

    chosen = judged("speecheq", "deliveries", lambda _answer: None).chosen
    assert set(chosen) == {"s4.resonant", "s4.dissonant_2", "s6.resonant", "s6.dissonant_2"}
    assert set(judged("speecheq", "deliveries", swapped).chosen) >= {"s4.dissonant_3", "s6.dissonant_3"}


@given(st.integers())
def test_letters_are_every_key_once_in_an_order_of_the_seed(seed):
    letters = letters_drawn(GRADES, Random(seed))
    assert list(letters) == ["A", "B", "C", "D"]
    assert sorted(letters.values()) == sorted(GRADES)
    assert letters == letters_drawn(tuple(reversed(GRADES)), Random(seed))


@given(st.integers())
def test_a_judge_that_grades_as_intended_recovers_the_order_however_letters_fall(seed):
    brief = brief_of("emosbench")
    stage = benchmark_get("emosbench").stages[1]
    so_far = written("emosbench", brief, until="responses")
    value = stage.schema.model_validate(stage.prompt(brief, so_far, Random(1)).sample())
    answer = stage.judge.schema.model_validate(stage.judge.prompt(value, brief, so_far, Random(seed)).sample())
    verdict = stage.judge.read(value, answer, brief, so_far, Random(seed))
    assert faults(verdict.criteria) == ""
    assert [verdict.scores[grade]["grade"] for grade in GRADES] == [1, 2, 3, 4]


def test_concordance_by_hand():
    def of(*grades):
        return concordance(dict(zip(GRADES, grades, strict=True)))

    assert of(1, 2, 3, 4) == 1.0
    assert of(4, 3, 2, 1) == 0.0
    assert of(2, 2, 2, 2) == 0.5
    assert of(1, 3, 2, 4) == pytest.approx(5 / 6)
    assert all(of(*order) + of(*order[::-1]) == pytest.approx(1.0) for order in permutations((1, 2, 3, 4)))


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        (lambda d: d["grade_4"].update(text=" ".join(["word"] * 27)), {"length tells nothing"}),
        (lambda d: d["grade_1"].update(text=d["grade_2"]["text"]), {"responses differ"}),
        (lambda d: d["grade_3"].update(rationale="Good."), {"rationale"}),
        (
            lambda d: [
                d[grade].update(volume=level)
                for grade, level in zip(GRADES, ("low", "low", "normal", "high"), strict=True)
            ],
            {"loudness tells nothing"},
        ),
    ],
)
def test_responses_whose_surface_tells_the_grade_are_refused(change, failed):
    assert checked("emosbench", "responses", change) == failed


def test_an_opening_of_the_wrong_length_is_refused():
    assert checked("emosbench", "input", lambda d: d.update(opening=[]), category="est") == {"turns"}


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        ("I am so sad that the parcel is gone.", {"neutral words"}),
        ("The cough keeps me up until the morning.", {"cue not named"}),
        ("Parcel", {"line length"}),
    ],
)
def test_an_echomind_line_is_neutral_and_does_not_name_the_cue(line, failed):
    assert checked("echomind", "line", lambda draft: draft.update(line=line), category="cough") == failed


def test_a_line_that_favours_one_delivery_is_refused_by_the_judge():
    verdict = judged("echomind", "line", lambda answer: answer.update(fits_a=5, fits_b=3))
    assert [one.name for one in verdict.criteria if not one.passed] == ["no side favoured"]
    assert faults(judged("echomind", "line", lambda answer: answer.update(neutral=3)).criteria).startswith(
        "The words give"
    )


def test_questions_are_of_the_planned_types_and_have_four_options():
    def repeat(draft):
        draft["reasoning"][0]["distractor"] = draft["reasoning"][0]["for_target"]

    assert checked("echomind", "questions", repeat) == {"question 1 options"}
    assert checked("echomind", "questions", lambda d: d["reasoning"].pop()) == {"question types"}


def test_reasons_are_told_once_each_and_nothing_is_added_without_any():
    prompt = Prompt("system", "Write.", "v1")
    assert prompt_again(prompt, []) is prompt
    told = prompt_again(prompt, ["Too long.", "Too long.", "Not neutral."]).user
    assert told.count("Too long.") == 1
    assert told.endswith("- Too long.\n- Not neutral.")


@given(st.floats(0, 5), st.floats(0, 5))
def test_a_criterion_is_met_from_its_threshold_on(score, threshold):
    criterion = Criterion("any", score, threshold, "no")
    assert criterion.passed == (score >= threshold)
    assert faults([criterion]) == ("" if criterion.passed else "no")


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("Be polite and gently firm", "en", ("polite", "gently")),
        ("A kindling voice", "en", ("kindling",)),
        ("语气要温柔、得体", "zh", ("温柔", "得体")),
        ("Low, slow, with a breath", "en", ()),
    ],
)
def test_vague_words_are_found(text, language, found):
    assert vague_words(text, language) == found


def test_words_of_feeling_of_telling_and_of_the_body():
    assert feeling_words("So sorry! How sad.", "en") == ("sorry", "sad", "!")
    assert feeling_words("恭喜！", "zh") == ("恭喜", "!")
    assert telling_words("She ought to stay calm", "en") == ("ought to",)
    assert physical_kinds("Slow pace, tight jaw, a sigh", "en") == {"pace", "tension", "breath"}
    assert physical_kinds("语速放慢，喉咙发紧", "zh") == {"pace", "tension"}
    assert (word_count("Two words", "en"), word_count("四个字呀。", "zh")) == (2, 2)
    assert (in_language("好的。", "zh"), in_language("OK.", "zh"), in_language("OK.", "en")) == (True, False, True)


LINES = [LeakLine(4, "I see.", "slow", "fast"), LeakLine(6, "All right.", "low in pitch", "high in pitch")]


@given(st.integers(), st.sampled_from([1, 2]))
def test_a_judge_that_likes_one_slot_is_right_in_half_of_its_answers(seed, slot):
    orders = orders_drawn(LINES, Random(seed))
    guesses = [TextGuesses(options=[slot] * 2)] * 2
    assert leak_count(guesses, orders).share == 0.5


@given(st.integers())
def test_a_judge_that_knows_the_key_is_right_in_both_orders(seed):
    orders = orders_drawn(LINES, Random(seed))
    assert leak_count([TextGuesses(options=list(order)) for order in orders], orders) == (4, 4)
    assert leak_count([TextGuesses(options=[1])] * 2, orders) is None


def test_the_question_shows_both_deliveries_and_not_which_is_right():
    first, second = (leak_prompt(LINES, order, "en").user for order in ((1, 2), (2, 1)))
    assert "option 1: slow\n  option 2: fast" in first
    assert "option 1: fast\n  option 2: slow" in second
    assert "right" not in first.replace("All right.", "")


@pytest.mark.parametrize(
    ("delivery", "words"),
    [
        ({"pitch": -1.8, "rate": 0.84, "pitch_range": 1.0}, "slow, low in pitch"),
        ({"pitch": 1.8, "rate": 1.18, "pitch_range": 1.4}, "fast, high in pitch, lively in melody"),
        ({}, "ordinary in pace, pitch and melody"),
    ],
)
def test_deliveries_are_told_by_their_numbers(delivery, words):
    assert delivery_words(delivery) == words
