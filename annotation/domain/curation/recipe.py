"""A recipe: which items go into a split. The form, the TOML file and the JSON file are the same thing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from eqstudio.errors import InvalidInput

OUTCOMES = ("kept", "rejected", "disputed")
CONSENSUS = ("round", "majority", "share", "unanimous")
"""Who says what became of an item: the round with its experts, or the judgements that count, decided again."""
BALANCED = ("category", "grade", "language", "valence", "voice", "source", "topic")
GROUPS = ("template", "scenario", "brief", "voice", "speaker", "topic")
MEASURES = ("alpha_ordinal", "alpha_interval", "alpha_nominal", "ac1", "percent_agreement")
EVERY = "*"
"""In targets: each value that has no target of its own."""

_TEXT = "text"
_COUNT = "a whole number, 0 or more"
_SHARE = "a number from 0 to 1"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most


def _is_text(value: Any) -> bool:
    """Text that every database and file can hold: no half characters, no NUL."""
    return isinstance(value, str) and not any("\ud800" <= one <= "\udfff" or one == "\0" for one in value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(_is_text(one) for one in value)


def _are_targets(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(wanted, Mapping) and all(_is_text(name) and _is_count(number) for name, number in wanted.items())
        for wanted in value.values()
    )


def _spelled(kind: str, value: Any) -> Any:
    """One spelling of equal values: 1, 1.0 and -0.0 differ in JSON, and so would the hashes of manifests."""
    if kind in ("share", "points", "correlation"):
        return float(value) or 0.0
    return tuple(value) if isinstance(value, list) else value


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": (_TEXT, _is_text),
    "count": (_COUNT, _is_count),
    "share": (_SHARE, lambda value: _is_number(value, 0, 1)),
    "points": ("a number from 0 to 3", lambda value: _is_number(value, 0, 3)),
    "correlation": ("a number from -1 to 1", lambda value: _is_number(value, -1, 1)),
    "yes": ("true or false", lambda value: isinstance(value, bool)),
    "texts": ("a list of texts", _are_texts),
    "targets": ("a table of tables of whole numbers, such as targets.category", _are_targets),
}


def _of(kind: str, default: Any) -> Any:
    known = {"kind": kind}
    return field(default_factory=dict, metadata=known) if kind == "targets" else field(default=default, metadata=known)


@dataclass(frozen=True)
class Recipe:
    """Where items come from, which of them, how many of each, and on which side they are.

    ``rounds`` and ``corpus`` are names. ``outcome`` under ``consensus`` (``consensus_share`` goes with "share").
    0 in a number and nothing in a text mean: not asked for. ``minimum_agreement`` is the share of an item's people who gave
    its most frequent verdict; ``agreement_at_least`` is for the split as a whole, by ``agreement_measure``, and with
    ``agreement_whole`` its interval has to lie above. ``minimum_spread`` is between the median grades of an item's best and
    worst rendition. ``targets`` are at most so many items per value of a field, ``balance`` shares ``size`` out evenly.
    ``indivisible`` kinds of group are never on two sides; the test side is what ``dev`` and ``train`` leave.
    ``strict`` refuses a freeze that falls short of its targets.
    """

    rounds: tuple[str, ...] = _of("texts", ())
    corpus: str = _of("text", "")
    outcome: str = _of("text", "kept")
    consensus: str = _of("text", "round")
    consensus_share: float = _of("share", 0.75)
    minimum_people: int = _of("count", 0)
    minimum_agreement: float = _of("share", 0.0)
    agreement_measure: str = _of("text", "alpha_ordinal")
    agreement_at_least: float = _of("share", 0.667)
    agreement_whole: bool = _of("yes", False)  # noqa: FBT003 -- the default of a field
    benchmark: str = _of("text", "")
    language: str = _of("text", "")
    source: str = _of("text", "")
    valence: str = _of("text", "")
    categories: tuple[str, ...] = _of("texts", ())
    size: int = _of("count", 0)
    per_category: int = _of("count", 0)
    balance: tuple[str, ...] = _of("texts", ())
    targets: Mapping[str, Mapping[str, int]] = _of("targets", None)
    minimum_spread: float = _of("points", 0.0)
    minimum_item_rest: float = _of("correlation", -1.0)
    largest_topic_share: float = _of("share", 0.0)
    topic_entropy_at_least: float = _of("share", 0.0)
    difficulty_from: float = _of("share", 0.0)
    difficulty_to: float = _of("share", 1.0)
    indivisible: tuple[str, ...] = _of("texts", ())
    dev: float = _of("share", 0.0)
    train: float = _of("share", 0.0)
    seed: int = _of("count", 0)
    strict: bool = _of("yes", False)  # noqa: FBT003

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recipe:
        """Read a recipe; InvalidInput names the key that is unknown, of the wrong kind, or against another one."""
        known = {one.name: one for one in fields(cls)}
        for name, value in data.items():
            if name not in known:
                raise InvalidInput(f"Recipe: unknown key {name!a}. Known: {', '.join(sorted(known))}.", field="recipe")
            expected, fits = _KINDS[known[name].metadata["kind"]]
            if not fits(value):
                raise InvalidInput(f"Recipe: {name} should be {expected}, not {value!a}.", field=name)
        values = {name: _spelled(known[name].metadata["kind"], value) for name, value in data.items()}
        recipe = cls(**values)
        _check(recipe)
        return recipe

    @classmethod
    def from_toml(cls, text: str) -> Recipe:
        try:
            return cls.from_dict(tomllib.loads(text))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InvalidInput(f"Recipe: not TOML: {error}.", field="recipe") from error

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"Recipe: not JSON: {error}.", field="recipe") from error
        if not isinstance(data, dict):
            raise InvalidInput("Recipe: a JSON recipe is an object.", field="recipe")
        return cls.from_dict(data)

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it: every key, lists for tuples."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def told(self) -> dict[str, Any]:
        """What differs from a recipe that asks for nothing."""
        plain = Recipe().as_dict()
        return {name: value for name, value in self.as_dict().items() if value != plain[name]}

    def as_toml(self) -> str:
        """The same recipe as a file; only what was asked for is in it."""
        told = self.told()
        targets = told.pop("targets", {})
        lines = [f"{name} = {_toml(value)}" for name, value in told.items()]
        for name, wanted in targets.items():
            lines += ["", f"[targets.{name}]", *(f"{_toml(key)} = {number}" for key, number in wanted.items())]
        return "\n".join(lines) + "\n"

    def target(self, name: str, value: str) -> int | None:
        """At most so many items with this value; None is no limit."""
        wanted = self.targets.get(name, {})
        found = wanted.get(value, wanted.get(EVERY))
        if name == "category" and self.per_category:
            return self.per_category if found is None else min(found, self.per_category)
        return found


def _toml(value: Any) -> str:
    """A value as TOML, whose texts, numbers, booleans and lists of texts are spelt as in JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check(recipe: Recipe) -> None:
    """What no single key can tell."""
    choices = {"outcome": OUTCOMES, "consensus": CONSENSUS, "agreement_measure": MEASURES}
    for name, known in choices.items():
        _among(name, [getattr(recipe, name)], known)
    _among("balance", recipe.balance, BALANCED)
    _among("targets", recipe.targets, BALANCED)
    _among("indivisible", recipe.indivisible, GROUPS)
    against = {
        "balance": (recipe.balance and not recipe.size, "balance shares a size out: say size, too"),
        "dev": (recipe.dev + recipe.train > 1, "dev and train together are more than everything"),
        "difficulty_from": (recipe.difficulty_from > recipe.difficulty_to, "the band of difficulty ends before it begins"),
        "rounds": (recipe.rounds and recipe.corpus, "items come from rounds or from a corpus: name one of them"),
    }  # fmt: skip
    for name, (wrong, why) in against.items():
        if wrong:
            raise InvalidInput(f"Recipe: {why}.", field=name)


def _among(name: str, given: Any, known: tuple[str, ...]) -> None:
    for value in given:
        if value not in known:
            raise InvalidInput(f"Recipe: {name} should be one of {', '.join(known)}, not {value!a}.", field=name)
