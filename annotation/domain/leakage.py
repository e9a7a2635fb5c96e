"""What would make a split easier than it looks: repeated content."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable

_NOT_WORDS = re.compile(r"[\W_]+")


def text_key(text: str) -> str:
    """A text without case, punctuation, spaces and width, so that copies that differ only in these are found."""
    return _NOT_WORDS.sub("", unicodedata.normalize("NFKC", text).casefold())


def repeated(keyed: Iterable[tuple[str, Hashable]]) -> dict[Hashable, list[str]]:
    """From (owner, key) pairs, the keys that more than one owner has, with their owners. Empty keys are no keys."""
    owners: dict[Hashable, list[str]] = defaultdict(list)
    for owner, key in keyed:
        if key and owner not in owners[key]:
            owners[key].append(owner)
    return {key: found for key, found in owners.items() if len(found) > 1}


def shared(here: Iterable[tuple[str, Hashable]], there: Iterable[tuple[str, Hashable]]) -> dict[Hashable, list[str]]:
    """Keys that occur on both sides, with their owners on this side."""
    known = {key for _, key in there if key}
    owners: dict[Hashable, list[str]] = defaultdict(list)
    for owner, key in here:
        if key in known and owner not in owners[key]:
            owners[key].append(owner)
    return dict(owners)
