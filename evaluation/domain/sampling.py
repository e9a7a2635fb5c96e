"""Drawing the items of a study from its split: all of them, a simple random sample, or a stratified one.

The same items, plan and seed always give the same draw, so anybody who has the split can draw it again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Drawn:
    """One item that is asked: which stratum it stands for, and the probability with which it was drawn."""

    item: int
    stratum: str
    probability: float


@dataclass(frozen=True)
class Stratum:
    """``size`` items in the split, of which ``drawn`` are asked; ``weight`` is how many items of the split each stands for."""

    name: str
    size: int
    drawn: int

    @property
    def probability(self) -> float:
        return self.drawn / self.size

    @property
    def weight(self) -> float | None:
        return self.size / self.drawn if self.drawn else None


def allocation(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """How many items each stratum gives to a sample of ``size``: in proportion to its own size, by largest remainder (ties by
    name). Every stratum gives at least one where there are at most ``size`` of them.
    """
    whole = sum(sizes.values())
    quotas = {name: size * count / whole for name, count in sizes.items()} if whole else {}
    given = {name: int(quota) for name, quota in quotas.items()}
    left = size - sum(given.values())
    for name in sorted(quotas, key=lambda one: (given[one] - quotas[one], one))[:left]:
        given[name] += 1
    if size < len(sizes):
        return given
    for name in sorted(one for one, count in given.items() if count == 0):
        richest = max(sorted(given), key=lambda one: (given[one] > 1, given[one] - quotas[one]))
        given[richest] -= 1
        given[name] = 1
    return given


def sample_draw(
    strata: Mapping[int, str], *, plan: str, size: int | None, seed: int, names: Mapping[int, str]
) -> list[Drawn]:
    """The items that are asked, in the order of ``strata``, which tells the stratum of every item of the split.

    ``names`` gives each item a name that is the same on every machine; what is drawn hangs on it and on the seed alone, not on
    the order of the items.
    """
    if plan == "full" or size is None:
        return [Drawn(item, stratum, 1.0) for item, stratum in strata.items()]
    groups: dict[str, list[int]] = {}
    for item, stratum in strata.items():
        groups.setdefault(stratum if plan == "stratified" else "", []).append(item)
    given = allocation({name: len(members) for name, members in groups.items()}, size)
    chosen: dict[int, float] = {}
    for name, members in groups.items():
        rng = Random(f"{seed}:{name}")  # noqa: S311 -- a draw that anybody may repeat
        for item in rng.sample(sorted(members, key=names.__getitem__), given[name]):
            chosen[item] = given[name] / len(members)
    return [Drawn(item, strata[item], chosen[item]) for item in strata if item in chosen]


def strata_of(strata: Sequence[str], drawn: Sequence[str]) -> list[Stratum]:
    """How much of each stratum was drawn, by name; those that nothing was drawn from are listed too."""
    sizes, taken = Counter(strata), Counter(drawn)
    return [Stratum(name, sizes[name], taken[name]) for name in sorted(sizes)]


def item_set_hash(names: Sequence[str]) -> str:
    """SHA-256 over the sorted public ids of the items, one a line, in hexadecimal."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()
