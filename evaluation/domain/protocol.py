"""The protocol of a study: everything that is settled before the first answer, as one object with a hash.

The blocks follow the human-baseline checklist of Wei et al. (2025): design, recruitment, execution, analysis. A locked
protocol is a pre-registration; its hash is taken over the canonical JSON of all of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Share = Annotated[float, Field(ge=0, le=1)]
Languages = dict[str, str]
"""The same text per language: ``{"en": ..., "zh": ...}``."""

ExclusionRule = Literal[
    "attention_failed",
    "too_fast",
    "straight_lined",
    "same_slot",
    "inconsistent_repeats",
    "headphones_failed",
    "incomplete",
    "exposed_before",
    "can_read_key",
]


class Block(BaseModel):
    """A part of the protocol: frozen, and a field it does not know is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DesignBlock(Block):
    """How the questions are asked. ``history``: the respondent's own choices, the right ones, or none at all (direct)."""

    history: Literal["own", "gold", "none"] = "own"
    order: Literal["answer_first", "rationale_first"] = "rationale_first"
    tasks: tuple[str, ...] = Field(default=(), description="kinds of question asked; empty for all of the benchmark's")
    confidence: bool = False
    comment: bool = False


class Sampling(Block):
    """Which items of the split are asked. ``size`` counts items; ``by`` names what strata are made of."""

    plan: Literal["full", "random", "stratified"] = "full"
    size: int | None = Field(default=None, ge=1)
    by: Literal["category", "language", "source", "valence"] = "category"
    seed: int = 0


class Consent(Block):
    """What a person agrees to before the first question. No text: no consent is asked."""

    version: str = Field(default="", max_length=40)
    text: Languages = {}
    ethics: str = Field(default="", max_length=400, description="approval number, or why none is needed")


class Recruitment(Block):
    """Who is asked, from where, and for what pay."""

    population: str = Field(default="", max_length=1000)
    eligibility: str = Field(default="", max_length=1000)
    languages: tuple[str, ...] = ()
    source: Literal["", "convenience", "crowd", "panel", "expert"] = ""
    people: int | None = Field(default=None, ge=1, description="how many are wanted")
    pay: float | None = Field(default=None, ge=0, description="for one complete sitting")
    currency: str = Field(default="", max_length=3)
    bonus: str = Field(default="", max_length=400, description="how much more for doing well, by which rule")
    screening: str = Field(default="", max_length=1000, description="who is turned away while recruiting")
    demographics: tuple[str, ...] = Field(default=(), description="optional questions: age_band, gender, ...")
    consent: Consent = Consent()


class Execution(Block):
    """How a sitting runs. ``practice``, ``attention`` and ``repeats`` count items; None for ``per_sitting``: all."""

    pilot: bool = Field(default=False, description="kept out of every result")
    per_sitting: int | None = Field(default=None, ge=1)
    break_after: int | None = Field(default=None, ge=1, description="a break is offered after so many items")
    max_minutes: int | None = Field(default=None, ge=1)
    headphones: Literal["off", "asked", "required"] = "off"
    practice: int = Field(default=0, ge=0, le=20)
    attention: int = Field(default=0, ge=0, le=50)
    repeats: int = Field(default=0, ge=0, le=50)
    gate_share: Share = 0.9
    no_ai_statement: bool = False
    instructions: Languages = Field(
        default={}, description="in place of the benchmark's own; page and prompt get the same"
    )
    tools: str = Field(default="", max_length=400, description="what people may use, and who sees to it")
    differences: str = Field(default="", max_length=2000, description="what people and models do not get alike")


class Exclusion(Block):
    """A rule that leaves a person out, declared before anybody looks. ``threshold`` in the unit of the rule."""

    rule: ExclusionRule
    threshold: float | None = Field(default=None, ge=0)


class Analysis(Block):
    """What will be claimed, from which figure, and how large a difference counts."""

    primary_metric: str = Field(default="", max_length=40)
    hypotheses: tuple[str, ...] = ()
    smallest_difference: Share | None = None
    exclusions: tuple[Exclusion, ...] = ()
    baselines: tuple[Literal["mean", "median", "best", "majority", "experts"], ...] = ("mean",)


class Protocol(Block):
    """A study's protocol, whole."""

    design: DesignBlock = DesignBlock()
    sampling: Sampling = Sampling()
    recruitment: Recruitment = Recruitment()
    execution: Execution = Execution()
    analysis: Analysis = Analysis()


def protocol_hash(content: dict[str, Any]) -> str:
    """SHA-256 over the canonical JSON (sorted keys, no spaces, UTF-8), in hexadecimal."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class ProtocolError(ValueError):
    """A protocol that cannot be read: ``field`` is the dotted name of what is wrong, ``expected`` says what it wants."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(f"{field}: {expected}")
        self.field = field
        self.expected = expected


def protocol_read(content: Mapping[str, Any]) -> Protocol:
    """A protocol from JSON or TOML; ProtocolError names the first field that is wrong and what it should be."""
    try:
        return Protocol.model_validate_json(json.dumps(content), strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "protocol"
        given = "" if isinstance(first.get("input"), dict) else f" (given: {str(first.get('input'))[:80]!r})"
        raise ProtocolError(place, f"{_wanted(place, first)}{given}") from error
    except TypeError as error:
        place, value = next(_not_json(content), ("protocol", content))
        kind = type(value).__name__
        expected = (
            f"should be text, a number, true or false, a list or a table, not a {kind}; put a date in quotation marks"
        )
        raise ProtocolError(place, f"{expected} (given: {str(value)[:80]!r})") from error


def _not_json(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted place, value) of what JSON has no word for; TOML knows dates and times."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _not_json(inner, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _not_json(inner, f"{place}.{number}")
    elif not isinstance(value, str | int | float | bool | None):
        yield place, value


def _wanted(place: str, problem: Any) -> str:
    if problem["type"] != "extra_forbidden":
        return str(problem["msg"])
    *path, _name = place.split(".")
    block: Any = Protocol
    for part in path:
        block = block.model_fields[part].annotation if part in getattr(block, "model_fields", {}) else None
    known = ", ".join(block.model_fields) if block is not None else ""
    return f"there is no such field; known: {known}" if known else "there is no such field"


def protocol_diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """What changed between two protocols, as (dotted field, before, after) in the order of the protocol, however it was stored."""
    order = list(_leaves(Protocol().model_dump(mode="json")))

    def place(row: tuple[str, Any, Any]) -> int:
        return next((at for at, leaf in enumerate(order) if f"{row[0]}.".startswith(f"{leaf}.")), len(order))

    return sorted(_changes(before, after), key=place)


def _leaves(content: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for name in [*before, *(name for name in after if name not in before)]:
        one, other = before.get(name), after.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            found += [(f"{name}.{field}", old, new) for field, old, new in _changes(one, other)]
        elif one != other:
            found.append((name, one, other))
    return found
