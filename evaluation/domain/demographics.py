"""What a person may be asked about themselves. Every answer is optional; the guarded table keeps it, aggregates alone leave it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from eqstudio.errors import InvalidInput

LONGEST = 120

CHOICES: Mapping[str, tuple[str, ...]] = {
    "age_band": ("18-24", "25-34", "35-44", "45-54", "55-64", "65+"),
    "gender": ("woman", "man", "other"),
    "hearing": ("no_difficulty", "some_difficulty", "hearing_aid"),
    "native_language": ("en", "zh", "other"),
    "education": ("school", "bachelor", "master", "doctorate"),
    "expertise": ("none", "some", "professional"),
}
"""Questions with answers to choose from. Any other name in a protocol is a question with a line to write in."""


def answers_read(given: Mapping[str, str], asked: Iterable[str]) -> dict[str, str]:
    """The answers that were given, by question. InvalidInput names a question that was not asked or an answer not offered."""
    known = list(asked)
    kept: dict[str, str] = {}
    for name, value in given.items():
        text = value.strip()
        if name not in known:
            raise InvalidInput(f"{name} was not asked; asked were {', '.join(known) or 'none'}.", field=name)
        if name in CHOICES and text and text not in CHOICES[name]:
            raise InvalidInput(f"{name}: {text[:40]!r} was not offered; known: {', '.join(CHOICES[name])}.", field=name)
        if text:
            kept[name] = text[:LONGEST]
    return kept
