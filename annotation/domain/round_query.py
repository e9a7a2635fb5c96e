"""Which dialogues of a corpus a round takes, beside its benchmark and language: validated data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from typing import Any

from eqstudio.errors import InvalidInput

LIMIT = 1_000_000
WORDS_AT_MOST, WORD_LENGTH = 200, 120


@dataclass(frozen=True)
class RoundQuery:
    """Empty tuples take everything. ``clean`` takes only dialogues whose last quality check found nothing. With a
    ``limit`` a random choice is made, the same for the same ``seed``.
    """

    categories: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    valences: tuple[str, ...] = ()
    voices: tuple[str, ...] = ()
    clean: bool = False
    limit: int = 0
    seed: int = 0

    @classmethod
    def from_dict(cls, data: object) -> RoundQuery:
        """Read stored or sent data; InvalidInput names the part that is wrong. Unknown parts are refused."""
        if not isinstance(data, Mapping):
            raise InvalidInput("Which dialogues are taken is said by an object.", field="query")
        known = {part.name for part in fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise InvalidInput(
                f"Unknown part {unknown[0]!r} of the query. Known: {', '.join(sorted(known))}.", field="query"
            )
        words = {name: _words(name, data.get(name, ())) for name in ("categories", "sources", "valences", "voices")}
        if not isinstance(data.get("clean", False), bool):
            raise InvalidInput("clean is true or false.", field="clean")
        return cls(
            **words, clean=data.get("clean", False), limit=_number("limit", data), seed=_number("seed", data, 2**53)
        )

    def as_dict(self) -> dict[str, Any]:
        """What is stored: only what differs from taking everything."""
        stored = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return {name: value for name, value in stored.items() if value}


def chosen(ids: Sequence[int], *, limit: int, seed: int) -> list[int]:
    """``limit`` of ``ids`` by chance, in order; all of them without a limit.

    Once some of the chosen are gone from ``ids``, the rest of them are chosen by what is left of the limit.
    """
    if not limit or limit >= len(ids):
        return list(ids)
    return sorted(sorted(ids, key=lambda key: blake2b(f"{seed}:{key}".encode(), digest_size=8).digest())[:limit])


def _words(name: str, found: object) -> tuple[str, ...]:
    if isinstance(found, str) or not isinstance(found, Sequence) or len(found) > WORDS_AT_MOST:
        raise InvalidInput(f"{name} is a list of at most {WORDS_AT_MOST} words.", field=name)
    if not all(isinstance(word, str) and 0 < len(word) <= WORD_LENGTH for word in found):
        raise InvalidInput(f"{name} holds words of 1 to {WORD_LENGTH} letters.", field=name)
    return tuple(sorted(set(found)))


def _number(name: str, data: Mapping[str, Any], largest: int = LIMIT) -> int:
    found = data.get(name, 0)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= largest:
        raise InvalidInput(f"{name} is a whole number from 0 to {largest}.", field=name)
    return found
