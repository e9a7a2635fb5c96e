"""Parts of the judging page that are the same for many items: rendered once for what they say and the reader's language."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from annotation.domain.questions import Questions
from annotation.views.judge_words import problem_choices, question_rows, rubric_of, ui_text
from eqstudio.benchmarks import benchmark_get

P = ParamSpec("P")
KEPT = 500
"""So many of each part are held in memory; one takes a few kilobytes."""


def _kept(fill: Callable[P, dict[str, Any]]) -> Callable[P, SafeString]:
    """The template ``annotation/<name of the function>.html`` with what the function fills it with, for its arguments and
    the reader's language: nothing of a person or a request.
    """
    template = f"annotation/{fill.__name__}.html"

    def render(_language: str | None, *args: P.args, **kwargs: P.kwargs) -> SafeString:
        return render_to_string(template, fill(*args, **kwargs))

    held = lru_cache(maxsize=KEPT)(render)

    @wraps(fill)
    def of(*args: P.args, **kwargs: P.kwargs) -> SafeString:
        one = render if settings.DEBUG else held  # a template that is being worked on is read anew
        return one(get_language(), *args, **kwargs)  # type: ignore[arg-type]

    return of


@_kept
def judge_rubric(alias: str, category: str, language: str, examples: tuple[tuple[int, str], ...]) -> dict[str, Any]:
    """What is asked, and the anchored grades, in ``language``; ``examples`` are (grade, uid)."""
    benchmark = benchmark_get(alias)
    found = benchmark.category(category)
    return {
        "category": ui_text(found.label, language),
        "category_about": ui_text(found.description, language),
        "question": ui_text(benchmark.review_form.question, language),
        "rubric": [
            {**level, "example": next((uid for grade, uid in examples if grade == level["grade"]), "")}
            for level in rubric_of(benchmark, category, language)
        ],
        "rubric_language": language,
    }


@_kept
def judge_grades(alias: str, category: str, language: str, letter: str) -> dict[str, Any]:
    """Where the rendition under a letter is graded."""
    return {"rubric": rubric_of(benchmark_get(alias), category, language), "letter": letter}


@_kept
def judge_questions(questions: Questions) -> dict[str, Any]:
    """What the round asks beside."""
    return {"questions": question_rows(questions)}


@_kept
def judge_panels(alias: str, *, revising: bool) -> dict[str, Any]:
    """Reasons, the comment, and where a skipped item goes."""
    reasons = benchmark_get(alias).review_form.reasons
    return {"reasons": [(reason.code, ui_text(reason.label)) for reason in reasons], "revising": revising}


@_kept
def judge_problems() -> dict[str, Any]:
    """What may be wrong with a sound."""
    return {"problems": problem_choices()}


@_kept
def judge_bar(comment_mode: str, comment_key: str, *, revising: bool) -> dict[str, Any]:
    """Keep, reject, comment, skip and submit."""
    return {"comment_mode": comment_mode, "comment_key": comment_key, "revising": revising}
