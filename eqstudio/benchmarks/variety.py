"""Steering against clumps: what was used least is used next, and a scene too much like an earlier one is refused."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from eqstudio.benchmarks.base import Cast, CastMember
from eqstudio.benchmarks.texts import texts_load

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from eqstudio.benchmarks.base import Benchmark

NEAR = 0.5
"""Above this share of common pieces two scenes are near-duplicates."""
GENDERS = {1: ("female", "male"), 2: ("female female", "female male", "male female", "male male")}


class Drawn(NamedTuple):
    """``value`` was drawn for ``kind`` out of ``pool``; the pool's name is what counts are kept by."""

    kind: str
    pool: str
    value: str


def least_used(pool: Sequence[str], counts: Mapping[str, int], rng: Random, *, without: Iterable[str] = ()) -> str:
    """One of those in ``pool`` that were used least; ``rng`` decides between equals. ``without`` is left out if it can be."""
    barred = set(without)
    open_ = [value for value in pool if value not in barred] or list(pool)
    fewest = min(counts.get(value, 0) for value in open_)
    return rng.choice([value for value in open_ if counts.get(value, 0) == fewest])


class Dealer:
    """Draws for one dialogue. ``counts`` tells how often each value of a pool was drawn so far in the corpus."""

    def __init__(self, counts: Callable[[str], Mapping[str, int]], rng: Random) -> None:
        self._counts = counts
        self._rng = rng
        self.drawn: list[Drawn] = []

    def draw(self, kind: str, pool: str, values: Sequence[str], *, without: Iterable[str] = ()) -> str:
        value = least_used(values, self._counts(pool), self._rng, without=without)
        self.drawn.append(Drawn(kind, pool, value))
        return value


def cast_draw(
    dealer: Dealer, benchmark: Benchmark, *, category: str, language: str, valence: str, setting: str
) -> None:
    """Draw all that a dialogue needs; a valence or setting that is asked for is kept, and counted all the same."""
    where = f"{benchmark.alias} {category} {language}"
    matrix = [
        f"{one}|{other}"
        for one in ([valence] if valence else benchmark.valences)
        for other in ([setting] if setting else benchmark.settings)
    ]
    setting = dealer.draw("cell", f"{where} cell", matrix).split("|")[1]
    pools = texts_load("variety")[language]
    own = pools.get(setting, pools["any"])
    dealer.draw("topic", f"{language} {setting} topic", own["topics"])
    pairs = ["|".join(pair) for pair in own.get("roles", pools["any"]["roles"])]
    dealer.draw("roles", f"{language} {setting} roles", pairs)
    _people_draw(dealer, language, benchmark.speakers)
    _ways_draw(dealer, where, benchmark.archetypes(language), benchmark.plans(category), language)


def _people_draw(dealer: Dealer, language: str, speakers: int) -> None:
    genders = dealer.draw("genders", f"{language} genders of {speakers}", GENDERS[speakers]).split()
    taken: list[str] = []
    for number, gender in enumerate(genders, start=1):
        names = texts_load("names")[language][gender]
        taken.append(dealer.draw(f"name {number}", f"{language} {gender} name", names, without=taken))


def _ways_draw(dealer: Dealer, where: str, archetypes: Sequence[str], plans: Sequence[str], language: str) -> None:
    taken: list[str] = []
    for number in (2, 3) if archetypes else ():
        taken.append(dealer.draw(f"archetype {number}", f"{language} archetype", archetypes, without=taken))
    if plans:
        dealer.draw("plan", f"{where} plan", plans)


def cast_read(drawn: Mapping[str, str]) -> Cast:
    """What was drawn, by kind, as a benchmark reads it."""
    valence, setting = drawn["cell"].split("|")
    roles = drawn["roles"].split("|")
    return Cast(
        valence=valence,
        setting=setting,
        topic=drawn["topic"],
        people=tuple(
            CastMember(name=drawn[f"name {number}"], gender=gender, role=roles[number - 1])
            for number, gender in enumerate(drawn["genders"].split(), start=1)
        ),
        archetypes=tuple(drawn[kind] for kind in ("archetype 2", "archetype 3") if kind in drawn),
        plan=drawn.get("plan", ""),
    )


def shingles(text: str, language: str, without: Iterable[str] = ()) -> frozenset[str]:
    """The pieces of three letters (two Chinese characters) of a text, without names, case and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    for name in without:
        folded = folded.replace(name.casefold(), " ")
    plain = re.sub(r"[\W_]+", "" if language == "zh" else " ", folded).strip()
    size = 2 if language == "zh" else 3
    return frozenset(plain[at : at + size] for at in range(max(1, len(plain) - size + 1))) if plain else frozenset()


def likeness(first: frozenset[str], second: frozenset[str]) -> float:
    """The share of pieces that both have (Jaccard): 0 for nothing in common, 1 for the same."""
    if not first and not second:
        return 1.0
    common = len(first & second)
    return common / (len(first) + len(second) - common)


class Near(NamedTuple):
    title: str
    score: float


def nearest(
    title: str,
    context: str,
    earlier: Iterable[tuple[str, str, Sequence[str]]],
    language: str,
    *,
    names: Sequence[str] = (),
) -> Near | None:
    """The scene (title, context, names) among ``earlier`` that is most like this one, read one by one; None if there is none.

    The same title counts as the same scene whatever happens in it.
    """
    mine, mine_title = shingles(f"{title} {context}", language, names), shingles(title, language)
    best: Near | None = None
    for other_title, other_context, other_names in earlier:
        other = shingles(f"{other_title} {other_context}", language, other_names)
        score = 1.0 if shingles(other_title, language) == mine_title else likeness(mine, other)
        if best is None or score > best.score:
            best = Near(other_title, score)
    return best
