"""Errors that carry the decision: what to show, whether and when to try again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class StudioError(Exception):
    """Base of every error a person may read. ``message`` is whole sentences; ``field`` names what to mend."""

    status = 400

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class InvalidInput(StudioError):  # noqa: N818 -- named for what happened
    """What came in is wrong; the message names the file, row or field and what was expected."""


class UnknownAlias(InvalidInput):
    """A kind that is not registered."""

    def __init__(self, *, kind: str, alias: str, known: list[str], near: str | None = None) -> None:
        hint = f" Did you mean {near!r}?" if near else ""
        super().__init__(
            f"Unknown {kind} {alias!r}.{hint} Known: {', '.join(known) or 'none'}.", field=kind.replace(" ", "_")
        )
        self.known = known


class NotFound(StudioError):  # noqa: N818 -- named for what happened
    """The object does not exist, or the person may not know that it does."""

    status = 404


class Forbidden(StudioError):  # noqa: N818 -- named for what happened
    """The person knows the object but their role may not do this."""

    status = 403


class Conflict(StudioError):  # noqa: N818 -- named for what happened
    """Somebody else was first, or the state has moved on."""

    status = 409


class IllegalMove(Conflict):
    """A state change that the lifecycle table does not allow."""


@dataclass(frozen=True)
class Retry:
    """Try again, not before ``after_s`` seconds from now. ``pause``: the provider said so, and means everybody."""

    after_s: float
    pause: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class GiveUp:
    """Trying again cannot help."""


class ProviderError(StudioError):
    """A call to something outside failed. ``cause`` groups failures on pages; ``decision`` says what follows.

    ``usage`` is what an answer cost that came and was no good.
    """

    status = 502
    usage: Any = None

    def __init__(self, message: str, *, cause: str, decision: Retry | GiveUp) -> None:
        # Parts of it were often said by whoever failed; NUL and halves of characters can be stored nowhere.
        super().__init__(message.replace("\x00", "\ufffd").encode(errors="replace").decode())
        self.cause = cause
        self.decision = decision


class Refused(ProviderError):  # noqa: N818 -- named for what happened
    """The provider declined to answer: an outcome of its own, never retried."""

    def __init__(self, message: str) -> None:
        super().__init__(message, cause="refused", decision=GiveUp())
