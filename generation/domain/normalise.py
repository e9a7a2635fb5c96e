"""Two texts are made comparable before they are compared: case, width, numbers, punctuation, spelling and script are levelled."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from generation.domain.numerals import numbers_in_figures

if TYPE_CHECKING:
    from collections.abc import Callable

_NOT_WORD = re.compile(r"[\W_]+")
_PERCENT = "百分"
"""A sign would be lost with the punctuation."""
_APOSTROPHES = str.maketrans("’‘ʼ`´", "'''''")
_DIGIT_NAMES = str.maketrans("0123456789", "零一二三四五六七八九")
_SAME_SOUND = str.maketrans("她它牠妳", "他他他你")
"""Pronouns that no ear can tell apart."""
_BETWEEN_DIGITS = re.compile(r"(?<=[0-9])-?(?=[0-9])")
_FIGURE = re.compile(r"[0-9]")
_FIGURE_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_CLOCK = re.compile(r"\b([0-9]{1,2}):([0-9]{2})\b")
_SOUNDS = re.compile(r"\b(?:a+h+|a+w+|o{2,}h+|u+g+h+|(?:ha){2,}h*)\b", re.IGNORECASE)
"""What is no word and is written down, or not, at will."""
_ENGLISH_SAME = (
    (re.compile(r"\bo ?kay\b|\bok\b|\bo k\b"), "ok"),
    (re.compile(r"\ball right\b"), "alright"),
    (re.compile(r"(?<=[0-9]) percent\b"), "%"),
)


@lru_cache(maxsize=512)
def normalise(text: str, language: str) -> str:
    """``text`` as it is compared: English in normal words, Chinese as simplified characters without spaces, numbers of
    both in figures.
    """
    wide = unicodedata.normalize("NFKC", text)
    return _chinese(wide) if language == "zh" else _spoken_english(wide)


def sound_letters(text: str, language: str) -> str:
    """``text`` as letters without spaces; Chinese by its syllables without tones, where words that sound alike are one."""
    plain = normalise(text, language)
    if language != "zh":
        return plain.replace(" ", "")
    import pypinyin  # noqa: PLC0415 -- slow import, 45 MB

    return "".join(pypinyin.lazy_pinyin(plain.translate(_DIGIT_NAMES)))


def _spoken_english(text: str) -> str:
    worded = _SOUNDS.sub(" ", _CLOCK.sub(r"\1\2", text.translate(_APOSTROPHES)))
    plain = str(_english()(worded))
    for pattern, written in _ENGLISH_SAME:
        plain = pattern.sub(written, plain)
    # "1-2-3" and "one, two, three" are the same words, however the normaliser joins the figures.
    words = _FIGURE.sub(lambda figure: _FIGURE_NAMES[int(figure[0])], _BETWEEN_DIGITS.sub(" ", plain)).split()
    return " ".join(word for word in words if any(char.isalnum() for char in word))


def _chinese(text: str) -> str:
    figures = numbers_in_figures(_opencc().convert(text)).replace("%", _PERCENT)
    basic = str(_basic()(figures))  # takes what stands in brackets out, too
    return _NOT_WORD.sub("", basic).translate(_SAME_SOUND).lower()


@cache
def _english() -> Callable[[str], str]:
    from whisper_normalizer.english import EnglishTextNormalizer  # noqa: PLC0415 -- slow import

    normaliser: Callable[[str], str] = EnglishTextNormalizer()
    return normaliser


@cache
def _basic() -> Callable[[str], str]:
    from whisper_normalizer.basic import BasicTextNormalizer  # noqa: PLC0415 -- slow import

    normaliser: Callable[[str], str] = BasicTextNormalizer()
    return normaliser


@cache
def _opencc() -> Any:
    import opencc  # noqa: PLC0415 -- slow import

    return opencc.OpenCC("t2s")
