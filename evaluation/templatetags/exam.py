"""Filters for pages of the exam."""

from __future__ import annotations

from django import template

from eqstudio.benchmarks import benchmark_get
from evaluation import words

register = template.Library()


@register.filter
def recipe_words(recipe: str) -> str:
    """How a norm was worked out, in the language of the page."""
    return str(words.RECIPES.get(recipe, recipe))


@register.filter
def respondent_words(name: str) -> str:
    """What a reader calls a respondent: ``Person 3`` in the language of the page."""
    return words.respondent_words(str(name))


@register.filter
def asks_replies(benchmark: str) -> bool:
    """Whether a benchmark asks for open replies, which are judged on a page of their own."""
    return benchmark_get(benchmark).open_replies
