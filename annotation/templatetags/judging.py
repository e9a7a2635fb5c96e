"""A rendition on the listening page. Made here and not from a template, because a page has a dozen of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from eqstudio.templatetags.listening import player

if TYPE_CHECKING:
    from annotation.views.judging import Line, Slot

register = template.Library()


@register.simple_tag(takes_context=True)
def judge_slot(context: Context, line: Line, slot: Slot) -> SafeString:
    """One rendition of a line: its player, its words where they are shown here, and where it is graded under its letter."""
    shown = context["round"].show_transcript and not line.text
    return format_html(
        '<div class="judge-slot{}" data-uid="{}"{}>{}<div class="judge-clip">{}{}</div>{}</div>',
        " is-graded" if slot.letter else "",
        slot.uid,
        format_html(' data-letter="{}"', slot.letter) if slot.letter else "",
        format_html('<span class="judge-letter" aria-hidden="true">{}</span>', slot.letter) if slot.letter else "",
        _sound(slot, context["round"].gate_share),
        _words(slot, context["language"]) if shown or not slot.card else "",
        context["grades"][slot.letter] if slot.letter else "",
    )


def _sound(slot: Slot, share: float) -> SafeString:
    if not slot.card:
        return format_html('<p class="muted">{}</p>', _("No sound: read it."))
    return player(slot.card, slot.uid, label=slot.name, required=share, group=slot.group, preload="auto")


def _words(slot: Slot, language: str) -> SafeString:
    return format_html('<p class="judge-text" lang="{}">{}</p>', language, slot.text)
