"""Which items a person is offered, in which order: rank functions that say where to look, never what is there.

Every item of a round has a place in a random circle of 0..2^31-1 and every person a start of their own in it, so that
people who begin together do not meet, and what somebody has judged lies behind them. A rank yields looks, best first; a
look is a few ranges of an index, so that the next item costs the same in a round of two thousand and of a hundred
thousand. Who wins a race is the database's business.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from eqstudio.errors import UnknownAlias

CIRCLE = 2**31
TWIN_KEY_LENGTH = 120
SHUFFLE, PLACE = "shuffle", "pk"


def twin_key(*, benchmark: str, topic_key: str) -> str:
    """What the items of twins share, in whatever kind and round: dialogues of one story, for who has heard one knows what
    happens in the other. Empty for a dialogue whose story has no name; at most 120 characters.
    """
    return f"{benchmark}:{topic_key}"[:TWIN_KEY_LENGTH] if topic_key else ""


@dataclass(frozen=True)
class Look:
    """Items with one of ``where`` and ``after < along <= upto``, in the order of ``along``.

    Each of ``where`` is one range of an index; what they give is merged. Without ``upto`` the range has no end.
    """

    where: tuple[Mapping[str, Any], ...] = ({},)
    along: str = SHUFFLE
    after: int = -1
    upto: int | None = None


@dataclass(frozen=True)
class View:
    """What a rank may know. ``cursor`` is how far the person has come from ``start`` (for a fixed order, the last item's
    id); ``people`` is how many may hold an item; ``latest`` is the category of what the person was given last.
    """

    start: int = 0
    cursor: int = 0
    people: int = 1
    latest: str = ""
    categories: Sequence[str] = ()
    doubts: Sequence[float] = field(default=())

    @property
    def position(self) -> int:
        return (self.start + self.cursor) % CIRCLE


Rank = Callable[[View], Iterator[Look]]


def fewest_first(view: View) -> Iterator[Look]:
    """Items that the fewest people hold first, so that the round is covered evenly."""
    for held in range(view.people):
        yield from _around(view, {"held": held})
    yield from _around(view, {"held__gte": view.people})


def least_agreed_first(view: View) -> Iterator[Look]:
    """Items whose judgements differ most first (``doubts``, highest first), then those with the fewest people."""
    for doubt in view.doubts:
        yield from _around(view, {"disagreement": doubt})
    yield from fewest_first(view)


def category_balanced(view: View) -> Iterator[Look]:
    """One category after the other, each person beginning with another one; then whatever is left."""
    known = list(view.categories)
    count = len(known)
    begin = known.index(view.latest) + 1 if view.latest in known else view.start
    for step in range(count):
        yield from _around(view, {"category": known[(begin + step) % count]})
    yield from fewest_first(view)


def in_random_order(view: View) -> Iterator[Look]:
    """The circle from the person's own start, however many people hold an item."""
    yield from _around(view, *({"held": held} for held in range(view.people)), {"held__gte": view.people})


def in_fixed_order(view: View) -> Iterator[Look]:
    """The order of the round, the same for everybody; what was given back meanwhile comes last."""
    yield Look(along=PLACE, after=view.cursor)
    yield Look(along=PLACE, after=0, upto=view.cursor)


ORDERS: dict[str, Rank] = {
    "fewest_first": fewest_first,
    "least_agreed_first": least_agreed_first,
    "category_balanced": category_balanced,
    "random": in_random_order,
    "fixed": in_fixed_order,
}


def looks(order: str, view: View) -> Iterator[Look]:
    """Where to look for the person's next item, best first. UnknownAlias names the orders there are."""
    if order not in ORDERS:
        raise UnknownAlias(kind="order", alias=order, known=sorted(ORDERS))
    return ORDERS[order](view)


def cursor_after(order: str, *, start: int, place: int, pk: int) -> int:
    """The cursor of a person who has just been given the item with this ``place`` in the circle and this id."""
    return pk if order == "fixed" else (place - start) % CIRCLE


def _around(view: View, *where: Mapping[str, Any]) -> Iterator[Look]:
    """The whole circle from the person's position on, in two stretches."""
    yield Look(where=where, after=view.position)
    yield Look(where=where, after=-1, upto=view.position)


def shuffle_place(*, seed: str, key: str) -> int:
    """Where ``key`` lies in a random circle of 0..2^31-1 that is the same for the same ``seed``."""
    digest = hashlib.blake2b(f"{seed}:{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % CIRCLE


def shown_order(variants: Mapping[int, Sequence[str]], *, seed: str) -> dict[str, list[str]]:
    """The order in which the variants of each turn are shown, by position. The same seed gives the same order."""
    shown: dict[str, list[str]] = {}
    for position in sorted(variants):
        uids = sorted(variants[position])
        Random(f"{seed}:{position}").shuffle(uids)  # noqa: S311 -- an order to show, not a secret
        shown[str(position)] = uids
    return shown
