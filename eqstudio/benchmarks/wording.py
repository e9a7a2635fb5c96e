"""What can be said about words without a model: vague, bodily, full of feeling, telling the answer."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from eqstudio.benchmarks.texts import texts_load

PHYSICAL_NEEDED = 2
"""How many kinds of bodily description a direction must hold (benchmarks facts: at least two)."""


def vague_words(text: str, language: str) -> tuple[str, ...]:
    """Words that judge a voice instead of describing it."""
    return _found(text, language, tuple(texts_load("words")["vague"][language]))


def feeling_words(text: str, language: str) -> tuple[str, ...]:
    """Words that carry a feeling by themselves; an exclamation mark is one as well."""
    marks = ("!",) if "!" in unicodedata.normalize("NFKC", text) else ()
    return (*_found(text, language, tuple(texts_load("words")["feeling"][language])), *marks)


def telling_words(text: str, language: str) -> tuple[str, ...]:
    """Words by which a scene tells what ought to be done, or that it is a test."""
    return _found(text, language, tuple(texts_load("words")["telling"][language]))


def physical_kinds(text: str, language: str) -> frozenset[str]:
    """Of which kinds (pace, pitch, breath ...) a direction says something."""
    families: dict[str, list[str]] = texts_load("words")["physical"][language]
    return frozenset(kind for kind, words in families.items() if _found(text, language, tuple(words)))


def word_count(text: str, language: str) -> int:
    """Words in English; in Chinese two characters count as one."""
    if language != "zh":
        return len(text.split())
    return (sum(unicodedata.category(char)[0] in "LN" for char in text) + 1) // 2


def _found(text: str, language: str, words: tuple[str, ...]) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return tuple(dict.fromkeys(match.strip() for match in _pattern(words, language).findall(folded)))


@cache
def _pattern(words: tuple[str, ...], language: str) -> re.Pattern[str]:
    """Beginnings of words in English, whole or not; anywhere in Chinese, which has no spaces."""
    either = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(either if language == "zh" else rf"\b(?:{either})[\w-]*")


def in_language(text: str, language: str) -> bool:
    """Whether a text is written in the script of its language: mostly Chinese characters, or none of them."""
    letters = [char for char in text if char.isalpha()]
    chinese = sum("\u3400" <= char <= "\u9fff" for char in letters)
    return chinese * 2 >= len(letters) > 0 if language == "zh" else chinese == 0
