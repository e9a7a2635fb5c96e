"""Parts of the judging page are rendered once for what they say and the reader's language, and for nobody in particular."""

import pytest
from django.utils import translation

from annotation.domain.questions import Questions
from annotation.views import parts

ABOUT = ("speecheq", "interpersonal_empathy", "")


def test_the_same_part_is_rendered_once(monkeypatch):
    rendered = []
    real = parts.render_to_string
    monkeypatch.setattr(parts, "render_to_string", lambda name, said: rendered.append(name) or real(name, said))
    letter = "Z9"  # no other test asks for it

    first, second = parts.judge_grades(*ABOUT, letter), parts.judge_grades(*ABOUT, letter)

    assert first == second
    assert rendered == ["annotation/judge_grades.html"]


def test_a_part_speaks_the_language_of_whoever_reads_it():
    english = parts.judge_bar("optional", "c", revising=False)
    with translation.override("zh-hans"):
        chinese = parts.judge_bar("optional", "c", revising=False)

    assert "Submit" in english
    assert "Submit" not in chinese
    assert parts.judge_bar("optional", "c", revising=False) == english


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: parts.judge_rubric(*ABOUT, ()), lambda: parts.judge_rubric(*ABOUT, ((1, "abc"),))),
        (lambda: parts.judge_bar("off", "c", revising=False), lambda: parts.judge_bar("optional", "c", revising=False)),
        (
            lambda: parts.judge_bar("optional", "c", revising=False),
            lambda: parts.judge_bar("optional", "m", revising=False),
        ),
        (lambda: parts.judge_panels("speecheq", revising=False), lambda: parts.judge_panels("speecheq", revising=True)),
        (
            lambda: parts.judge_questions(Questions(confidence=True)),
            lambda: parts.judge_questions(Questions(naturalness=True)),
        ),
    ],
)
def test_parts_that_say_something_else_are_told_apart(one, other):
    assert one() != other()
