"""What a person reads about where they stand in a round, and what researchers read of flags: plain words for codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy

from annotation.models import Participation

FLAGS: dict[str, Any] = {
    "gold_low": gettext_lazy("Known answers missed"),
    "speed": gettext_lazy("Faster than the sound"),
    "straight_line": gettext_lazy("The same answer again and again"),
    "same_slot": gettext_lazy("One place always wins"),
    "impossible_listening": gettext_lazy("More sound than there was time for"),
}
State = Participation.State


class PlaceWords(NamedTuple):
    """Where a person stands: what happened, on which numbers, and what to do."""

    title: str
    why: str
    todo: str


def place_words(participation: Participation) -> PlaceWords | None:
    """For a person who is paused or did not qualify; None for everybody else."""
    if participation.state not in (State.PAUSED, State.NOT_QUALIFIED):
        return None
    evidence: Mapping[str, Any] = participation.evidence
    numbers = {
        "right": evidence.get("right", 0),
        "asked": evidence.get("asked", 0),
        "mark": round(100 * evidence.get("mark", 0)),
    }
    title, why, todo = _SAID.get(participation.reason, _SAID[""])
    return PlaceWords(str(title), str(why) % numbers, str(todo))


_WAIT = gettext_lazy(
    "Everything you submitted is kept. A researcher looks at it and lets you go on, or writes to you; there is nothing "
    "you need to do. Ask them if it takes long."
)
_SAID: dict[str, tuple[Any, Any, Any]] = {
    "": (gettext_lazy("You are paused in this round"), gettext_lazy("A researcher will tell you why."), _WAIT),
    "researcher": (
        gettext_lazy("A researcher has paused you in this round"),
        gettext_lazy("They left you a note."),
        gettext_lazy("Everything you submitted is kept. Talk to them; they let you go on."),
    ),
    "removed": (
        gettext_lazy("You are no longer part of this round"),
        gettext_lazy("A researcher took you out of it. What you submitted is kept."),
        gettext_lazy("Other rounds are not touched by it. If you think it is a mistake, ask them."),
    ),
    "gold_low": (
        gettext_lazy("You are paused until somebody has looked at your answers"),
        gettext_lazy(
            "Some items have an answer that experts agree on. You met it in %(right)d of %(asked)d; this round asks for "
            "%(mark)d %%."
        ),
        gettext_lazy(
            "Read the guidelines and hear their examples again. Everything you submitted is kept; a researcher lets you "
            "go on, or writes to you."
        ),
    ),
    "flags": (
        gettext_lazy("You are paused until somebody has looked at your answers"),
        gettext_lazy(
            "Several answers came faster than the sound lasts, or were the same again and again. There may be a good "
            "reason for it."
        ),
        _WAIT,
    ),
    "training": (
        gettext_lazy("The training was not passed"),
        gettext_lazy("%(right)d of %(asked)d training items were right; this round asks for %(mark)d %%."),
        gettext_lazy("A researcher can let you in all the same. Other rounds are open to you as before."),
    ),
    "qualification": (
        gettext_lazy("The qualification was not passed"),
        gettext_lazy("In the last try %(right)d of %(asked)d were right; this round asks for %(mark)d %%."),
        gettext_lazy("A researcher can let you in all the same. Other rounds are open to you as before."),
    ),
    "invitation": (
        gettext_lazy("This round is by invitation"),
        gettext_lazy("A researcher chooses who takes part."),
        gettext_lazy("If you should be among them, ask them."),
    ),
}


def evidence_words(code: str, evidence: Mapping[str, Any]) -> str:
    """The numbers behind a flag in one sentence."""
    told = _EVIDENCE.get(code)
    if told is None:
        return ", ".join(f"{name} {value}" for name, value in evidence.items() if not isinstance(value, list))
    return str(told) % {**dict.fromkeys(_NAMES, 0), **evidence, "mark": round(100 * evidence.get("mark", 0))}


_NAMES = ("right", "asked", "active_s", "heard_s", "wall_s", "in_a_row", "slot", "times", "of", "slots", "p")
_EVIDENCE: dict[str, Any] = {
    "gold_low": gettext_lazy("%(right)d of the latest %(asked)d known answers met, asked for are %(mark)d %%"),
    "speed": gettext_lazy(
        "%(heard_s)s s of sound are said to have been heard in %(active_s)s active s, %(wall_s)s s by the clock"
    ),
    "straight_line": gettext_lazy("%(in_a_row)d answers in a row alike on different items"),
    "same_slot": gettext_lazy(
        "the higher grade in place %(slot)d of %(slots)d in %(times)d of %(of)d comparisons, p = %(p)s"
    ),
}


def state_chip(state: str) -> str:
    """The colour of a state."""
    return {State.ACTIVE.value: "good", State.PAUSED.value: "warn", State.NOT_QUALIFIED.value: "bad"}.get(state, "")
