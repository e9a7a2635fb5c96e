"""The life of a dialogue as a table: from which state to which it may move."""

from __future__ import annotations

from enum import StrEnum

from eqstudio.errors import IllegalMove


class DialogueState(StrEnum):
    BRIEFED = "briefed"
    SCRIPTED = "scripted"
    VOICED = "voiced"
    READY = "ready"
    FLAGGED = "flagged"
    IN_REVIEW = "in_review"
    KEPT = "kept"
    REJECTED = "rejected"
    DISPUTED = "disputed"
    FROZEN = "frozen"
    FAILED = "failed"

    @classmethod
    def choices(cls) -> list[tuple[str, str]]:
        return [(state.value, state.value.replace("_", " ")) for state in cls]


S = DialogueState

MOVES: dict[DialogueState, frozenset[DialogueState]] = {
    S.BRIEFED: frozenset({S.SCRIPTED, S.FAILED}),
    S.SCRIPTED: frozenset({S.VOICED, S.BRIEFED, S.FAILED}),
    S.VOICED: frozenset({S.READY, S.FLAGGED, S.SCRIPTED, S.FAILED}),
    S.FLAGGED: frozenset({S.READY, S.REJECTED, S.VOICED, S.SCRIPTED, S.BRIEFED}),
    S.READY: frozenset({S.IN_REVIEW, S.VOICED, S.FLAGGED, S.REJECTED, S.FROZEN}),
    S.IN_REVIEW: frozenset({S.KEPT, S.REJECTED, S.DISPUTED, S.READY}),
    S.DISPUTED: frozenset({S.KEPT, S.REJECTED, S.IN_REVIEW}),
    S.KEPT: frozenset({S.FROZEN, S.IN_REVIEW, S.DISPUTED}),
    S.REJECTED: frozenset({S.IN_REVIEW, S.DISPUTED}),
    S.FROZEN: frozenset({S.IN_REVIEW}),
    S.FAILED: frozenset({S.BRIEFED, S.SCRIPTED, S.VOICED}),
}

IN_PRODUCTION = frozenset({S.BRIEFED, S.SCRIPTED, S.VOICED})
"""States whose next step is the worker's."""

REVIEWABLE = frozenset({S.READY, S.IN_REVIEW, S.KEPT, S.REJECTED, S.DISPUTED, S.FROZEN})
"""States in which people may hear and judge an item."""


def move_check(before: DialogueState, after: DialogueState) -> None:
    """Raise IllegalMove unless the table allows ``before`` -> ``after``."""
    if after not in MOVES[before]:
        allowed = ", ".join(sorted(MOVES[before])) or "none"
        raise IllegalMove(f"A dialogue that is {before} cannot become {after}; it can become: {allowed}.")
