"""The one answer parser: what is an answer, what is none, and that nothing makes it raise or guess."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqstudio.benchmarks.parsing import answer_parse
from eqstudio.benchmarks.trials import Option, Outcome, Trial, TrialKind

TWO_OPTIONS = [
    ("ANSWER: B", "B"),
    ("(A)", "A"),
    ("The answer is **A**.", "A"),
    ("Final answer: $\\boxed{A}$", "A"),
    ("我选择选项A，因为声音更柔和。", "A"),
    ("ANSWER: B\nThinking again, the first is kinder.\nANSWER: A", "A"),
    ('{"profile": "B is loud", "reasoning": "the answer is not B", "selected": "A"}', "A"),
    ("The answer isn't B, it is A.", "A"),
    ("The first one is more empathetic.", "A"),
    ("The answer is a hard one to give.", None),
    ("A and B are both good.", None),
    ("ANSWER: B or A", None),
    ("", None),
    ("   \n", None),
    ("The better response is A, whereas B sounds cold.", "A"),
    ("B", "B"),
    ("b", "B"),
    ("A", "A"),
    ("a", "A"),
    ("Option 1", "A"),
    ("option1", "A"),
    ("option 2.", "B"),
    ('{"selected": "Option 2"}', "B"),
    ('{"selected":"option1"}', "A"),
    ('```json\n{"reasoning":"Option 1 is flat","selected":"Option 2"}\n```', "B"),
    ('{"reasoning": "he said "no" to A", "selected": "Option 2"', "B"),
    ('{"reasoning": "x", "selected": "Both"}', None),
    ("A calm voice is what one would hope for here.", None),
    ("Answer: A calm voice", None),
    ("The answer is B. 4", "B"),
    ("B. Because it is warmer.", "B"),
    ("<think>The answer is A. ANSWER: A</think>\nANSWER: B", "B"),
    ("The answer is A.</think>B", "B"),
    ("I think the answer is not B.", None),
    ("Neither A nor B.", None),
    ("I cannot listen to audio.", None),
    ("I'd go with option B.", "B"),
    ("I would choose A because it's warm.", "A"),
    ("第二个更好", "B"),
    ("第二个", "B"),
    ("选A", "A"),
    ("答案：B", "B"),
    ("答案是A", "A"),
    ("我认为B更合适。", "B"),
    ("应该选择第一个", "A"),
    ("不是A，而是B", None),
    ("Option A sounds flat and bored. Option B is warmer and more empathetic.", "B"),
    ("The first one is more dismissive.", None),
    ("A is better than B.", "A"),
    ("B rather than A", "B"),
    ("**Answer:** B", "B"),
    ("**Final Answer: B**", "B"),
    ("Answer: (A)", "A"),
    ("My choice: A", "A"),
    ("Option B is better, but option A is better too", None),
    ("If the answer is A, then I'm wrong.", None),
    ("Is the answer A?", None),
    ("A\n\nThe first rendition is warmer", "A"),
    ("Selected: Option 2", "B"),
    ('{"answer": 2}', "B"),
    ('{"answer": "A"}', "A"),
    ("Ａ", "A"),
    ("（Ｂ）", "B"),
    ("\\boxed{\\text{A}}", "A"),
    ("The correct option is A", "A"),
    ("Both are fine", None),
    ("I am unsure; maybe A or B", None),
    ("ANSWER: A/B", None),
    ("Answer: A and B", None),
    ("The answer is option 1", "A"),
    ("The answer is the first one.", "A"),
    ("the second", "B"),
    ("Not the first one, the second one is better.", "B"),
    ("It's a tie.", None),
    ("I would say it's B", "B"),
    ("ANSWER:B", "B"),
    ("answer is: 'B'", "B"),
    ("Between A and B, B is better", "B"),
    ("A: flat\nB: warm", None),
    ("选项B", "B"),
    ("选项一", None),
    ("B选项", "B"),
    ("我选B", "B"),
    ("Response B.", "B"),
    ("I don't think the answer is A.", None),
    ("The answer could be A", None),
    ("The answer is definitely B", "B"),
    ("The answer is clearly option A", "A"),
    ("Answer - B", "B"),
    ("Therefore, B.", "B"),
    ("So the answer would be A", "A"),
    ("A sounds better", "A"),
    ("Audio 2 is more appropriate", "B"),
    ("Clip 1", "A"),
    ("The speaker in A is angry, so I choose B", "B"),
    ("ANSWER: C", None),
    ("选择：选项A", "A"),
    ("最终答案：A", "A"),
    ("我不选A，选B", "B"),
    ("两个都好", None),
    ("无法判断", None),
    ("Option A", "A"),
    ("A.", "A"),
    ("(a)", "A"),
    ("[[B]]", "B"),
    ("<answer>B</answer>", "B"),
    ("Answer: B (the second)", "B"),
    ("I pick the second option", "B"),
    ("I am going with A!", "A"),
    ("A or B? I'd say B", "B"),
]

FOUR_TEXTS = [
    ("The answer is calm.", "A"),
    ("calm", "A"),
    ("very calm", "C"),
    ("The speaker sounds angry", "B"),
    ("The speaker sounds angry or sad", None),
    ("not angry", None),
    ("D", "D"),
    ("The answer is C", "C"),
    ("the answer is C. very calm", "C"),
    ("B. angry", "B"),
    ("A. calm B. angry", None),
    ('{"answer": "sad"}', "D"),
]

MORE_OPTIONS = [
    ("The answer is B, not A.", "B"),
    ("I choose the first option because the second sounds cold.", "A"),
    ("B is not better than A.", None),
    ("答案：（Ｂ）", "B"),
    ("答：A", "A"),
    ("我会选第一个，因为第二个听起来很冷淡。", "A"),
    ("A不如B", None),
    ("选择B而不是A", "B"),
    ("两者都不合适", None),
    ("<think>unfinished A", None),
    ("My answer: B. My answer: A.", None),
    ("I can't decide between A and B.", None),
    ("Clearly not B.", None),
    ("最终选择：B", "B"),
    ("正确选项为Ａ", "A"),
    ("没有一个合适", None),
    ("A is my choice", "A"),
    ("A is not my choice", None),
    ('{"choice": {"letter": "B"}}', "B"),
    ('{"answer": ["B"]}', "B"),
    ('{"answer": ["A", "B"]}', None),
    ('{"selected": "option2", "selected": "option1"}', None),
    ('{"selected": "option1", "selected": "option1"}', "A"),
    ('{"reasoning": "she said ("I lost it") so", "selected": "option1"}', "A"),
    ("Ⓑ", "B"),
]
"""Found in real replies, or made up to trip the reader."""

YES_NO = [
    ("The answer is yes", "A"),
    ("No.", "B"),
    ("No, it isn't", "B"),
]

GRADES = [
    ("评分：2分", 2),
    ("Score: 1", 1),
    ("2/4", 2),
    ("2.5", None),
    ("between 1 and 2", None),
    ("7", None),
    ("<score>3</score>", 3),
    ("Score: three", 3),
    ("评分：三分", 3),
    ("三分", 3),
    ("3", 3),
    ("3.", 3),
    ("3.0", None),
    ("Grade: 4/4", 4),
    ("Score: 3/5", None),
    ("Score: 3-4", None),
    ("2-3", None),
    ("Score: 3.5", None),
    ("I would rate this a 3.", 3),
    ("Score (1-4): 2", 2),
    ("Score on a scale of 1 to 4: 2", 2),
    ('{"score": 3}', 3),
    ('{"score": 3.5}', None),
    ('{"score": "3/4"}', 3),
    ('{"score": 9}', None),
    ('```json\n{"reasoning":"pauses 2 times","grade": 4}\n```', 4),
    ("The speaker pauses 3 times.", None),
    ("**Score:** 3", 3),
    ("Score: 0", None),
    ("Score: 2\nScore: 3", 3),
    ("得分为3", 3),
    ("我给3分", 3),
    ("我会打3分，因为", 3),
    ("3 out of 4", 3),
    ("I'd give it 3 out of 4.", 3),
    ("Rating: 2 or 3", None),
    ("", None),
    ("\\boxed{3}", 3),
    ("three", 3),
    ("Three.", 3),
    ("score 10", None),
    ("-3", None),
    ("Final grade = 2", 2),
    ('{"answer": 3}', 3),
    ("Score: **3**", 3),
    ("Level 2", 2),
    ("３分", 3),
    ("Grade 3: the reply is warm", 3),
    ("between 3 and 4 points", None),
    ("评分：3.5分", None),
    ("Rating: 3 (Good)", 3),
    ("the grade is two", 2),
    ("Not a 4; I'd say 3.", 3),
    ("The reply deserves a 4", 4),
    ("得3分（满分4分）", 3),
    ("It's between 2 and 3, so 2", None),
    ("最终评分：３", 3),
    ('{"score": [3, 2]}', None),
]


def choice(count=2, texts=None) -> Trial:
    options = tuple(
        Option(letter="ABCDEF"[n], variant=None if texts else f"v{n}", text=texts[n] if texts else None)
        for n in range(count)
    )
    kind = TrialKind.MCQ if texts else TrialKind.CHOICE
    return Trial(key="t", kind=kind, category="c", language="en", question="Which?", options=options)


def graded() -> Trial:
    return Trial(key="t", kind=TrialKind.GRADE, category="c", language="en", question="Grade it.", scale=(1, 4))


def free(kind=TrialKind.REPLY) -> Trial:
    return Trial(key="t", kind=kind, category="c", language="en", question="Say something.")


@pytest.mark.parametrize(("text", "letter"), TWO_OPTIONS)
def test_two_options_are_read_without_a_wrong_letter(text, letter):
    assert answer_parse(choice(), text).value == letter


@pytest.mark.parametrize(("text", "letter"), MORE_OPTIONS)
def test_what_trips_a_reader_names_no_wrong_letter(text, letter):
    assert answer_parse(choice(), text).value == letter


def test_case_answer_parsing_has_no_wrong_letter_and_no_miss(shared):
    lines = (shared / "cases" / "answer_parsing.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    read = [
        answer_parse(choice(case["options"]) if "options" in case else graded(), case["text"]).value for case in cases
    ]
    assert len(cases) >= 20
    assert read == [case["letter"] if "options" in case else case["grade"] for case in cases]


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("gpt-audio-1.5", 90),
        ("qwen2.5-omni-3b_001", 90),
        ("qwen2.5-omni-7b_001", 90),
        ("qwen3-omni-30b-a3b-instruct_001", 89),
    ],
)
def test_real_replies_are_read_as_they_say(shared, name, same):
    """In 89 of 90 our reading is the file's; in the last one the file took another option than the reply selects."""
    document = json.loads(
        (shared / "data" / "speecheq" / "model_response" / f"{name}.json").read_text(encoding="utf-8")
    )
    agree = unread = 0
    for response in document["responses"]:
        for result in [*response["sentence_4"]["individual_results"], *response["sentence_6"]["individual_results"]]:
            theirs = {"option1": "A", "option2": "B"}.get(result["selected_option"].replace(" ", "").lower())
            ours = answer_parse(choice(), result["raw_response"]).value
            agree += ours == theirs
            unread += ours is None and theirs is not None
    assert (agree, unread) == (same, 0)


@pytest.mark.parametrize(("text", "letter"), FOUR_TEXTS)
def test_options_are_read_by_their_own_words(text, letter):
    assert answer_parse(choice(4, ["calm", "angry", "very calm", "sad"]), text).value == letter


@pytest.mark.parametrize(("text", "letter"), YES_NO)
def test_yes_and_no_are_options_like_others(text, letter):
    assert answer_parse(choice(2, ["Yes", "No"]), text).value == letter


@pytest.mark.parametrize(("text", "grade"), GRADES)
def test_grades_are_whole_numbers_inside_the_scale(text, grade):
    assert answer_parse(graded(), text).value == grade


@pytest.mark.parametrize(
    "text", ["I'm sorry, I can't listen to audio.", "抱歉，我无法回答这个问题。", "As an AI, I do not choose."]
)
def test_declining_is_an_outcome_of_its_own(text):
    assert answer_parse(choice(), text).outcome is Outcome.REFUSED
    assert answer_parse(graded(), text).outcome is Outcome.REFUSED


def test_undecided_is_unparsed_and_not_refused():
    assert answer_parse(choice(), "Both A and B work for me.").outcome is Outcome.UNPARSED


def test_span_points_into_the_answer_as_it_was_given():
    raw = "<think>A seems right</think>\nＡＮＳＷＥＲ：Ｂ"
    parsed = answer_parse(choice(), raw)
    assert (parsed.value, parsed.rule, raw[slice(*parsed.span)]) == ("B", "line", "Ｂ")


def test_free_text_is_kept_as_written():
    assert answer_parse(free(), '{"answer": " Don’t worry："}').value == "Don’t worry："
    assert answer_parse(free(TrialKind.TRANSCRIBE), "<think>hm</think> 你好，世界！ ").value == "你好，世界！"
    assert answer_parse(free(), " ").outcome is Outcome.UNPARSED


def test_a_field_that_names_nothing_is_not_searched_for_elsewhere():
    parsed = answer_parse(choice(), '{"reasoning": "ANSWER: A", "selected": "neither"}')
    assert (parsed.value, parsed.rule) == (None, "json")


def test_a_question_without_options_has_no_letter():
    assert answer_parse(choice(0), "A").outcome is Outcome.UNPARSED


_WORDS = st.sampled_from(
    ["A", "B", "C", "answer", ":", "not", "option", "1", "2", "second", "选", "{", "}", '"', "selected", "\n", "is", "better",
     "\\boxed{", "<think>", "</think>", "score", "3", "/", "4", ".", "-", "or", "if", "分"]
)  # fmt: skip
_TEXTS = st.one_of(
    st.text(max_size=300), st.lists(_WORDS, max_size=25).map(" ".join), st.lists(_WORDS, max_size=25).map("".join)
)


@given(_TEXTS)
def test_no_text_makes_it_raise_or_name_what_was_not_offered(text):
    parsed = answer_parse(choice(), text)
    assert parsed.value in {None, "A", "B"}
    assert (parsed.value is not None) == (parsed.outcome is Outcome.ANSWERED)
    if parsed.span is not None:
        assert 0 <= parsed.span[0] <= parsed.span[1] <= len(text)


@given(_TEXTS)
def test_no_text_yields_a_grade_off_the_scale(text):
    assert answer_parse(graded(), text).value in {None, 1, 2, 3, 4}


@given(_TEXTS)
def test_options_with_words_are_safe_with_any_text(text):
    assert answer_parse(choice(4, ["calm", "A", "(", "calm"]), text).value in {None, "A", "B", "C", "D"}
    assert answer_parse(choice(3, ["yes", "no", "2"]), text).value in {None, "A", "B", "C"}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 20_000,
        "9" * 50_000,
        "A or " * 20_000,
        "the answer is " * 5_000,
        "answer" + " " * 5_000 + "x",
        "answer<think>" + "x" * 3_000 + "</think>分",
    ],
)
def test_hostile_texts_end_soon(text):
    assert answer_parse(choice(), text).value is None
    assert answer_parse(graded(), text).value is None
