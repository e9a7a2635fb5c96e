"""Which item a person gets next: pure rank functions. Who wins a race is the database's business, not theirs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from eqstudio.errors import UnknownAlias


class Candidate(NamedTuple):
    """An open item with room. ``held`` counts active and submitted leases, ``position`` is its place in the round."""

    key: str
    position: int
    held: int = 0


Rank = Callable[[Sequence[Candidate], str], list[Candidate]]


def fewest_first(candidates: Sequence[Candidate], person_seed: str) -> list[Candidate]:
    """Items with the fewest people first, so that the round is covered evenly; ties in the person's own order."""
    return sorted(candidates, key=lambda candidate: (candidate.held, _own(candidate, person_seed)))


def in_random_order(candidates: Sequence[Candidate], person_seed: str) -> list[Candidate]:
    """The person's own order, the same on every call."""
    return sorted(candidates, key=lambda candidate: _own(candidate, person_seed))


def in_fixed_order(candidates: Sequence[Candidate], person_seed: str) -> list[Candidate]:  # noqa: ARG001 -- same for all
    """The order of the round, the same for everybody."""
    return sorted(candidates, key=lambda candidate: candidate.position)


ORDERS: dict[str, Rank] = {"fewest_first": fewest_first, "random": in_random_order, "fixed": in_fixed_order}


def rank(candidates: Sequence[Candidate], *, order: str, person_seed: str) -> list[Candidate]:
    """``candidates``, best first. UnknownAlias names the orders there are."""
    if order not in ORDERS:
        raise UnknownAlias(kind="order", alias=order, known=sorted(ORDERS))
    return ORDERS[order](candidates, person_seed)


CIRCLE = 2**31


def shuffle_place(*, seed: str, key: str) -> int:
    """Where ``key`` lies in a random circle of 0..2^31-1 that is the same for the same ``seed``."""
    digest = hashlib.blake2b(f"{seed}:{key}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % CIRCLE


def _own(candidate: Candidate, person_seed: str) -> bytes:
    return hashlib.blake2b(f"{person_seed}:{candidate.key}".encode(), digest_size=8).digest()


def shown_order(variants: Mapping[int, Sequence[str]], *, seed: str) -> dict[str, list[str]]:
    """The order in which the variants of each turn are shown, by position. The same seed gives the same order."""
    shown: dict[str, list[str]] = {}
    for position in sorted(variants):
        uids = sorted(variants[position])
        Random(f"{seed}:{position}").shuffle(uids)  # noqa: S311 -- an order to show, not a secret
        shown[str(position)] = uids
    return shown
