"""The answer parser where an option or a grade is named and not meant: denied, supposed, said of others, or the worse of two."""

import pytest

from eqstudio.benchmarks.parsing import answer_parse
from tests.eqstudio.test_parsing import choice, graded

NOT_MEANT = [
    "选项A不合适",
    "选项A太冷淡。",
    "选项B语气冷淡，不合适。",
    "别选A",
    "选A是错的",
    "选A太牵强",
    "错误的答案是A",
    "很难选择B",
    "B并不比A更好",
    "A比B更好吗？",
    "A和B都更好",
    "The wrong answer is A.",
    "The incorrect choice is A",
    "Worst choice: A",
    "The less appropriate choice is A.",
    "the least appropriate answer is A",
    "The dissonant choice is A.",
    "Some would choose A",
    "One could choose A, others B",
    "I hesitate to choose A",
    "Answer: B would be wrong",
    "If she were calmer, I would choose A",
    "ANSWER: A BIT UNCLEAR",
    "The answer is A Warm Voice",
]

MEANT = [
    ("A比B更好", "A"),
    ("A的声音比B更温暖。", "A"),
    ("选项A的语气比选项B更温和", "A"),
    ("选项1比选项2更合适", "A"),
    ("与B相比，A更合适", "A"),
    ("比A更好的是B", "B"),
    ("选项A不合适，选项B更合适", "B"),
    ("别选A，选B", "B"),
    ("选择B不合适，应该选A", "A"),
    ("选项是B", "B"),
    ("我选择A，因为它不冷淡", "A"),
    ("Most people would pick A but I pick B", "B"),
    ("If I had to choose, I would choose A", "A"),
    ("ANSWER: A BECAUSE IT IS WARM", "A"),
    ("ANSWER: A The voice is warm", "A"),
    ("ANSWER: B WARM AND KIND", "B"),
]

WORDS = [
    (["是", "否"], "不是", None),
    (["是", "否"], "是不是", None),
    (["是", "否"], "是的", "A"),
    (["有", "没有"], "没有", "B"),
    (["一致", "不一致"], "并不一致", "B"),
    (["一致", "不一致"], "语音和文本不太一致", None),
    (["consistent", "inconsistent"], "They are not entirely consistent.", None),
    (["consistent", "inconsistent"], "The two are hardly consistent.", None),
    (["consistent", "inconsistent"], "anything but consistent", None),
    (["Yes", "No"], "I have no idea", None),
    (["Yes", "No"], "There is no way to tell.", None),
    (["Yes", "No"], "No, the laughter is not hearty.", "B"),
    (["Yes", "No"], "No it isn't", "B"),
]

GRADES = [
    ("I cannot give a score of 4; it earns 2.", None),
    ("It doesn't deserve a 4.", None),
    ("It falls short of a grade 4 response.", None),
    ("I would not give it a score of 4", None),
    ("If it were warmer I would score it 4.", None),
    ("If it were warmer, I would give it a score of 4.", None),
    ("This would be a score of 4 if warmer.", None),
    ("不能给4分", None),
    ("我不会给4分", None),
    ("不应打4分", None),
    ("给不了4分", None),
    ("达不到4分", None),
    ("这个回应不值4分", None),
    ("比4分差一点", None),
    ("如果更温暖，我会给4分", None),
    ("如果要打分，我给3分", 3),
    ("If I had to rate it, I would rate it 3", 3),
    ("The tone isn't cold so I'd rate it 4", 4),
    ("这个回应不错，给3分", 3),
    ("Grade: 3. A score of 4 would need proactive guidance.", 3),
    ("Grade 3 is not deserved. Grade 2", 2),
    ("不是4分，评分：3", 3),
]


@pytest.mark.parametrize("text", NOT_MEANT)
def test_an_option_that_is_named_and_not_meant_is_no_answer(text):
    assert answer_parse(choice(), text).value is None


@pytest.mark.parametrize(("text", "letter"), MEANT)
def test_what_is_meant_is_still_read(text, letter):
    assert answer_parse(choice(), text).value == letter


@pytest.mark.parametrize(("texts", "text", "letter"), WORDS)
def test_the_words_of_an_option_do_not_count_where_they_are_denied(texts, text, letter):
    assert answer_parse(choice(2, texts), text).value == letter


@pytest.mark.parametrize(("text", "grade"), GRADES)
def test_a_grade_that_is_denied_or_supposed_is_not_given(text, grade):
    assert answer_parse(graded(), text).value == grade


@pytest.mark.parametrize(
    "words", ["选A不", "not A ", "the answer is A or ", "A比B更", "A is ", "选 A, ", "(" * 3 + "B "]
)
def test_a_model_that_repeats_itself_to_the_end_is_read_before_the_hour_is_over(words):
    """Where a pattern can divide a row of blanks in many ways, this many take hours."""
    assert answer_parse(choice(), words * (12_000 // len(words))).outcome is not None
