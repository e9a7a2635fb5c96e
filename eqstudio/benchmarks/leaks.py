"""Do the words of a critical line give its key away? A judge that reads only the words guesses, in both orders.

It sees the line and how its two deliveries sound, in plain terms of pace, pitch and melody, and neither the scene (which says
which delivery is right) nor any sound. Where words are neutral it can only guess: half of its answers are right. Every line is
asked twice with the two deliveries swapped, so that a liking for the first option comes out as half as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from eqstudio.benchmarks.scripts import ScriptPart
from eqstudio.benchmarks.writing import LANGUAGE_NAMES, weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from eqstudio.benchmarks.base import Prompt

SHARE_EXPECTED, SHARE_TOLERANCE = 0.5, 0.1
"""Over a batch the judge may be right in 40 to 60 % of its answers."""
SHARE_PER_DIALOGUE = 0.75
"""One dialogue has four answers or so; only where all of them are right its words are suspicious."""
_SLIGHT = {"pitch": 0.5, "pitch_range": 0.1, "rate": 0.04}


@dataclass(frozen=True)
class LeakLine:
    """A critical line, and its two deliveries in words; ``right`` is the one of the key."""

    position: int
    text: str
    right: str
    wrong: str


class TextGuesses(ScriptPart):
    """The option that the words alone suggest, line by line."""

    options: Annotated[list[Literal[1, 2]], Field(min_length=1, max_length=8)]


class Leak(NamedTuple):
    right: int
    asked: int

    @property
    def share(self) -> float:
        return self.right / self.asked


def delivery_words(delivery: Mapping[str, Any]) -> str:
    """How a delivery sounds, told by its numbers alone: slow, low, lively; "ordinary" where nothing differs."""
    pitch, spread, rate = delivery.get("pitch", 0.0), delivery.get("pitch_range", 1.0), delivery.get("rate", 1.0)
    words = [
        _step(rate - 1, _SLIGHT["rate"], "slow", "fast"),
        _step(pitch, _SLIGHT["pitch"], "low in pitch", "high in pitch"),
        _step(spread - 1, _SLIGHT["pitch_range"], "flat in melody", "lively in melody"),
    ]
    return ", ".join(word for word in words if word) or "ordinary in pace, pitch and melody"


def _step(value: float, slight: float, below: str, above: str) -> str:
    if abs(value) < slight:
        return ""
    return above if value > 0 else below


def orders_drawn(lines: Sequence[LeakLine], rng: Random) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which option is the right one, line by line: drawn once, and the other way round."""
    first = tuple(rng.choice((1, 2)) for _line in lines)
    return first, tuple(3 - option for option in first)


def leak_prompt(lines: Sequence[LeakLine], order: Sequence[int], language: str) -> Prompt:
    """The question about all lines in one order."""
    told = []
    for number, (line, right) in enumerate(zip(lines, order, strict=True), start=1):
        one, other = (line.right, line.wrong) if right == 1 else (line.wrong, line.right)
        told.append(f"Line {number}: {line.text}\n  option 1: {one}\n  option 2: {other}")
    user = f"""Each of these lines in {LANGUAGE_NAMES[language]} is spoken by somebody; you do not hear it and do not know the situation.

{chr(10).join(told)}

Which way of speaking do the words alone suggest? Answer options with 1 or 2 for each line, in order."""
    return weigh(user, "text-leak-1", lambda: {"options": [1] * len(lines)})


def leak_count(guesses: Sequence[TextGuesses], orders: Sequence[Sequence[int]]) -> Leak | None:
    """How many answers over both orders named the right option; None when a line was not answered."""
    if any(len(guess.options) != len(order) for guess, order in zip(guesses, orders, strict=True)):
        return None
    answers = [
        option == right
        for guess, order in zip(guesses, orders, strict=True)
        for option, right in zip(guess.options, order, strict=True)
    ]
    return Leak(sum(answers), len(answers))
