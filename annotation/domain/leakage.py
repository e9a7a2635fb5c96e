"""What would make a split easier than it looks: repeated content, and cues that give the key away."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from scipy.stats import binomtest

from eqstudio.estimates import Estimate

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


@dataclass(frozen=True)
class Cue:
    """A rule that knows nothing of the words: choose the clip with the lower (or higher) measure."""

    name: str
    measure: str
    lower: bool


CUES = (
    Cue("quieter", "loudness", lower=True),
    Cue("longer", "duration", lower=False),
    Cue("lower pitch", "pitch", lower=True),
)


def cue_accuracy(pairs: Iterable[tuple[Mapping[str, float | None], Mapping[str, float | None]]], cue: Cue) -> Estimate:
    """How often a rule picks the right clip of (right, wrong), with its Wilson interval; about 0.5 is what it should be.

    Pairs that do not differ, or lack the measure, say nothing and are left out.
    """
    hits = asked = 0
    for right, wrong in pairs:
        first, second = right[cue.measure], wrong[cue.measure]
        if first is None or second is None or first == second:
            continue
        asked += 1
        hits += (first < second) == cue.lower
    if not asked:
        return Estimate.undefined("no pair differs in this measure")
    interval = binomtest(hits, asked).proportion_ci(method="wilson")
    return Estimate(value=hits / asked, lo=float(interval.low), hi=float(interval.high), n=asked)
