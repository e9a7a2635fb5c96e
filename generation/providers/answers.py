"""What a provider's answer says, taken only where it has the form that was agreed: an answer may be anything at all."""

from __future__ import annotations

import math
import re
from typing import Any

from eqstudio.errors import ProviderError, Retry

UNREADABLE = "unreadable"
"""The cause of a call whose answer has not the form that its API promises."""
MOST_TOKENS = 2**31 - 1
MOST_SECONDS = 86_400.0
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")


def unreadable(what: str, why: str) -> ProviderError:
    """What came is not what the API promises; cut off on its way, or the server is ailing. Another try may go better."""
    return ProviderError(f"{what}: {why}.", cause=UNREADABLE, decision=Retry(0))


def count_told(value: Any) -> int | None:
    """A number of tokens; None for whatever else stands there."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= MOST_TOKENS else None


def seconds_told(value: Any) -> float | None:
    """A length of time, as a number or in figures; None for whatever else stands there."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and 0 <= seconds <= MOST_SECONDS else None


def name_told(value: Any, otherwise: str) -> str:
    """The model's own name for itself, where it is one that can be kept."""
    return value if isinstance(value, str) and value and keepable(value) else otherwise


def keepable(value: Any) -> bool:
    """Whether every text in plain data can be stored: no NUL, no half of a character."""
    if isinstance(value, dict):
        return all(keepable(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return all(keepable(part) for part in value)
    return not (isinstance(value, str) and _UNKEEPABLE.search(value))
