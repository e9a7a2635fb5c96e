"""Writing in stages: a script grows part by part, each part checked, and weighed by a judge who does not know the plan.

A stage is pure: what it asks for, what it splits into, what its checks find, what its judge is shown and how the verdict is
read. Whoever runs it pays for the calls, keeps what was refused and asks again with the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from eqstudio.benchmarks.base import Prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from pydantic import BaseModel

    from eqstudio.benchmarks.base import BriefSpec

REGENERATIONS = 3
"""How often a stage is written again before the dialogue is given up."""


@dataclass(frozen=True)
class Criterion:
    """``score`` must reach ``threshold``; ``reason`` says to the model and to people what is wrong where it does not."""

    name: str
    score: float
    threshold: float
    reason: str

    @property
    def passed(self) -> bool:
        return self.score >= self.threshold


def yes(name: str, *, good: bool, reason: str) -> Criterion:
    """A criterion that is met or not."""
    return Criterion(name, float(good), 1.0, reason)


@dataclass(frozen=True)
class Piece:
    """One candidate of a stage: a part that is taken or left on its own. ``refused`` says why a check left it out."""

    key: str
    content: Mapping[str, Any]
    refused: str = ""


@dataclass(frozen=True)
class Verdict:
    """What a judge's answer means: criteria of the whole, scores of single candidates, and which of them are taken."""

    criteria: tuple[Criterion, ...]
    chosen: tuple[str, ...]
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """A finished stage: what was written, and which of its candidates were taken."""

    value: BaseModel
    chosen: tuple[str, ...]


SoFar = dict[str, Written]


@dataclass(frozen=True)
class Judge:
    """Weighs what a stage wrote. ``prompt`` and ``read`` get an ``rng`` of the same seed, so that letters given out in a
    drawn order are read back in it.
    """

    schema: type[BaseModel]
    prompt: Callable[[BaseModel, BriefSpec, SoFar, Random], Prompt]
    read: Callable[[BaseModel, BaseModel, BriefSpec, SoFar, Random], Verdict]


def whole(value: BaseModel, _brief: BriefSpec) -> tuple[Piece, ...]:
    """A stage whose result is taken or left as it is."""
    return (Piece("", value.model_dump(mode="json")),)


@dataclass(frozen=True)
class Stage:
    """One step of writing. ``scene`` gives title and context where the stage writes them, to be held against the corpus."""

    name: str
    schema: type[BaseModel]
    prompt: Callable[[BriefSpec, SoFar, Random], Prompt]
    checks: tuple[Callable[[BaseModel, BriefSpec, SoFar], tuple[Criterion, ...]], ...] = ()
    pieces: Callable[[BaseModel, BriefSpec], tuple[Piece, ...]] = whole
    judge: Judge | None = None
    scene: Callable[[BaseModel], tuple[str, str]] | None = None

    def checked(self, value: BaseModel, brief: BriefSpec, so_far: SoFar) -> tuple[Criterion, ...]:
        return tuple(criterion for check in self.checks for criterion in check(value, brief, so_far))


def faults(criteria: Sequence[Criterion]) -> str:
    """What is wrong, for the next try and for the row; empty when nothing is."""
    return " ".join(criterion.reason for criterion in criteria if not criterion.passed)


def prompt_again(prompt: Prompt, reasons: Sequence[str]) -> Prompt:
    """The prompt with why earlier tries were refused; the prompt itself where there were none."""
    if not reasons:
        return prompt
    told = "\n".join(f"- {reason}" for reason in dict.fromkeys(reasons))
    return replace(prompt, user=f"{prompt.user}\n\nEarlier answers were refused. Write it anew and mend this:\n{told}")


def letters_drawn(keys: Sequence[str], rng: Random) -> dict[str, str]:
    """A letter for each candidate in a drawn order: ``{"A": key, ...}``."""
    order = sorted(keys)
    rng.shuffle(order)
    return dict(zip("ABCDEFGHIJKL", order, strict=False))
