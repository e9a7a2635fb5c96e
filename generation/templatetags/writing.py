"""How a dialogue came to be written, and whether the words of a batch give its key away: parts of pages."""

from __future__ import annotations

from typing import Any

from django import template

from generation import words
from generation.models import Batch, Dialogue
from generation.selectors.writing import batch_text_leak, candidates_by_stage

register = template.Library()


@register.inclusion_tag("generation/writing.html")
def writing(dialogue: Dialogue) -> dict[str, Any]:
    """The draw and every candidate of every stage, taken or not; two queries."""
    return {
        "dialogue": dialogue,
        "draws": [draw for draw in dialogue.draws.all() if draw.take == dialogue.takes],
        "stages": candidates_by_stage(dialogue=dialogue),
    }


@register.inclusion_tag("generation/text_leak.html")
def text_leak(batch: Batch) -> dict[str, Any]:
    """How often a judge that only reads was right; one query."""
    return {"leak": batch_text_leak(batch=batch)}


@register.filter
def percent(share: float | None) -> str:
    """A share as whole percent."""
    return "" if share is None else f"{share:.0%}"


@register.filter
def told(content: Any) -> str:
    """A candidate as text: its leaves in order, one after the other."""
    return " · ".join(_leaves(content))


@register.filter
def draw_label(kind: str) -> Any:
    return words.DRAW_LABELS.get(kind.rstrip(" 0123456789"), kind)


def _leaves(content: Any) -> list[str]:
    if isinstance(content, dict):
        return [leaf for part in content.values() for leaf in _leaves(part)]
    if isinstance(content, list):
        return [leaf for part in content for leaf in _leaves(part)]
    return [str(content)]
