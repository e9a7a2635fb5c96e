"""Filters for pages that show dialogues."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import template

from generation import words
from generation.domain.transcript import Part, transcript_diff

register = template.Library()


@register.filter
def state_label(state: str) -> Any:
    return words.STATE_LABELS.get(state, state)


@register.filter
def state_chip(state: str) -> str:
    """The colour of a state's chip."""
    return words.STATE_CHIPS.get(state, "")


@register.filter
def stage_label(state: str) -> Any:
    return words.STAGE_LABELS.get(state, state)


@register.filter
def role_label(role: str) -> Any:
    return words.ROLE_LABELS.get(role, role)


@register.filter
def variant_label(label: str) -> str:
    """A version of a line in words."""
    return str(words.VARIANT_LABELS.get(label, label))


@register.filter
def check_label(name: str) -> Any:
    """A quality check in words."""
    return words.CHECK_LABELS.get(name, name)


@register.filter
def found(finding: Any) -> str:
    """What a check found, in the reader's language."""
    return words.finding_words(finding.message, finding.detail)


@register.filter
def category_of(dialogue: Any) -> str:
    """The category of a dialogue or brief, in words."""
    return words.category_label(dialogue.benchmark, dialogue.category)


@register.filter
def heard_as(variant: Any, heard: str) -> list[Part]:
    """What was to be said held against what was heard."""
    return transcript_diff(variant.text, heard, variant.turn.dialogue.language)


@register.filter
def benchmark_of(alias: str) -> str:
    return words.benchmark_title(alias)


@register.filter
def seconds(span: timedelta) -> int:
    return int(span.total_seconds())
