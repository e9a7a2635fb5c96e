"""Filters and tags that every template may use."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.translation import gettext, ngettext

from eqstudio.estimates import Estimate
from eqstudio.words import DETAILS, ENTITIES, MOVES, REASONS, STATES, VERBS, VOTES

register = template.Library()

_MINUTE_S = 60
_SPEAK_HOURS_FROM_MINUTES = 90


@register.filter
def figure(estimate: Estimate) -> str:
    """``0.71 (0.66-0.75), n 412``; an undefined figure is the word and its reason, an open end says so."""
    if estimate.value is None:
        return gettext("undefined: %(reason)s") % {"reason": REASONS.get(estimate.reason or "", estimate.reason)}
    interval = ""
    if estimate.lo is not None or estimate.hi is not None:
        lo, hi = (gettext("no limit") if end is None else f"{end:z.2f}" for end in (estimate.lo, estimate.hi))
        dash = ", " if hi.startswith("-") else "\N{EN DASH}"  # a dash before a minus reads as neither
        interval = f" ({lo}{dash}{hi})"
    return f"{estimate.value:z.2f}{interval}, n\N{NO-BREAK SPACE}{estimate.n}"


@register.filter
def time_left(seconds: int) -> str:
    """A rough time to go, in words."""
    if seconds < _MINUTE_S:
        return gettext("less than a minute left")
    minutes = round(seconds / _MINUTE_S)
    if minutes < _SPEAK_HOURS_FROM_MINUTES:
        return ngettext("about %(n)d minute left", "about %(n)d minutes left", minutes) % {"n": minutes}
    hours = round(minutes / _MINUTE_S)
    return ngettext("about %(n)d hour left", "about %(n)d hours left", hours) % {"n": hours}


@register.filter
def roughly(seconds: int) -> str:
    """A rough length of work, in words."""
    minutes = max(1, round(seconds / _MINUTE_S))
    if minutes < _SPEAK_HOURS_FROM_MINUTES:
        return ngettext("about %(n)d minute", "about %(n)d minutes", minutes) % {"n": minutes}
    hours = round(minutes / _MINUTE_S)
    return ngettext("about %(n)d hour", "about %(n)d hours", hours) % {"n": hours}


@register.filter
def verb_words(verb: str) -> str:
    """What somebody did, in the reader's language."""
    return str(VERBS.get(verb, verb))


@register.filter
def entity_words(entity: str) -> str:
    """The kind of thing an event is about, in the reader's language."""
    return str(ENTITIES.get(entity, entity))


_MOVE = frozenset({"before", "after", "outcome"})
"""Details that may be states of a dialogue."""


@register.filter
def reason_words(reason: str) -> str:
    """Why something is so, in the reader's language."""
    return str(REASONS.get(reason, reason))


@register.filter
def pairs(mapping: dict[str, Any]) -> list[tuple[str, Any]]:
    """Names and values of a dict, empty ones left out; ``.items`` in a template would find a key of that name first."""
    return [(name, _plain(value)) for name, value in mapping.items() if value not in ("", None, [])]


@register.filter
def details(mapping: dict[str, Any]) -> list[tuple[str, Any]]:
    """As ``pairs``, for what stands beside an event: names, states of a dialogue, votes and reasons in words."""
    return [(str(DETAILS.get(name, name)), _told(name, value, mapping[name])) for name, value in pairs(mapping)]


def _told(name: str, plain: Any, stored: Any) -> Any:
    if name in _MOVE and plain in STATES:
        return str(STATES[plain])
    if name == "votes" and isinstance(stored, list):
        return ", ".join(str(VOTES.get(vote, vote)) for vote in stored)
    return _moved(plain) if name == "reason" and isinstance(plain, str) else plain


def _moved(reason: str) -> str:
    """Why something moved; what a person wrote, or nobody foresaw, stays as it is."""
    if reason in MOVES and "%" not in str(MOVES[reason]):
        return str(MOVES[reason])
    before, _space, name = reason.rpartition(" ")
    pattern = str(MOVES.get(before, ""))
    return pattern % {"name": name} if "%(name)s" in pattern else reason


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value
