"""The player's words and script, for every page with clips on it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

register = template.Library()


@register.inclusion_tag("eqstudio/parts/listening.html")
def listening(*, player: bool = True) -> dict[str, Any]:
    """Put into the ``scripts`` block. ``player=False`` where the page's own module imports the player already."""
    return {"words": listen_words(), "player": player}


@register.inclusion_tag("eqstudio/parts/words.html")
def outbox_words() -> dict[str, Any]:
    """What the outbox says about answers that wait; put into the ``scripts`` block."""
    return {"id": "outbox-words", "words": outbox_texts()}


@register.simple_tag
def player(
    card: Mapping[str, Any],
    name: str,
    *,
    label: str = "",
    required: float | None = None,
    group: str = "",
    preload: str = "",
    untimed: bool = False,
) -> SafeString:
    """One player, for a ``generation.media.clip_card`` under a ``name`` that is unique on the page.

    Made here and not from a template, because a listening page has a dozen of them.
    """
    said = {
        "data-clip": name,
        "data-src": card["url"],
        "data-duration": f"{card['duration']:.3f}",
        "data-peaks": str(card["peaks"]),
        "data-label": label,
        "data-required": f"{required:.4f}" if required else "",
        "data-group": group,
        "data-preload": preload,
    }
    attributes = "".join(f' {attribute}="{escape(str(value))}"' for attribute, value in said.items() if value)
    timed = " data-untimed" if untimed else ""
    return mark_safe(f'<div class="clip"{attributes}{timed}></div>')  # noqa: S308 -- every value is escaped


def listen_words() -> dict[str, str]:
    return {
        "play": _("Play {label}"),
        "pause": _("Pause {label}"),
        "position": _("{label}: position. Space plays and pauses, arrow keys move."),
        "of": _("{now} of {all}"),
        "heard": _("heard"),
        # xgettext:no-python-format -- a share, nothing to fill in
        "heardShare": _("{percent} % heard"),
        "speed": _("Speed {rate}, change"),
        "loop": _("Repeat {label}"),
        "loopShort": _("Repeat; drag with Shift to repeat a part"),
        "loopPart": _("Repeat {label}: from {from} to {to}"),
        "clip": _("clip"),
        "loading": _("Still loading: the connection is slow."),
        "blocked": _("Your browser waits for a click before it plays sound. Press play once more."),
        "offline": _("This clip could not be loaded: there is no connection. What you did is kept."),
        "expired": _(
            "This page has been open too long, so its sounds have closed. Reload the page: what you did is kept."
        ),
        "broken": _("This clip could not be played: the file or its format is not readable here."),
        "server": _("This clip could not be loaded: the server answered {status}."),
        "again": _("Try again"),
        "reload": _("Reload the page"),
        "report": _("Report a problem"),
    }


def outbox_texts() -> dict[str, str]:
    return {
        "waitingOne": _("Not saved yet: 1 answer waits here."),
        "waitingMany": _("Not saved yet: {n} answers wait here."),
        "kept": _("It is kept in this browser and sent as soon as possible, also after a reload."),
        "memory": _("This browser keeps nothing, so leave this tab open."),
        "offline": _("There is no connection."),
        "signedOut": _("You have been signed out."),
        "signIn": _("Sign in again in a new tab"),
        "server": _("The server has trouble (answer {status})."),
        "broken": _("Something went wrong on this page."),
        "send": _("Send now"),
        "refused": _("An answer was not accepted: {message}"),
        "discard": _("Discard it"),
    }
