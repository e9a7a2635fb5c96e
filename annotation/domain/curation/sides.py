"""On which side an item is: by a hash of its groups and the seed, and by nothing else.

So an item keeps its side however the corpus grows, and on every machine. Each group has a side of its own; an item whose
groups have different sides is left out, since on either side it would divide one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

TEST, DEV, TRAIN = SIDES = ("test", "dev", "train")
_SPACE = 2**64


def group_side(group: str, *, dev: float, train: float, seed: int) -> str:
    """The side of one group: a place from 0 to 1 by hash, test first, then dev, then train."""
    digest = hashlib.sha256(f"{seed}|{group}".encode("utf-8", "surrogatepass")).digest()
    place = int.from_bytes(digest[:8], "big") / _SPACE
    if place < 1 - dev - train:
        return TEST
    return DEV if place < 1 - train else TRAIN


def side_of(groups: Iterable[str], *, dev: float, train: float, seed: int) -> str | None:
    """The side that all groups of an item share; None where they do not."""
    if not dev and not train:
        return TEST
    found = {group_side(group, dev=dev, train=train, seed=seed) for group in groups}
    return found.pop() if len(found) == 1 else None
