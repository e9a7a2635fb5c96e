"""Two texts are made comparable before they are compared: case, numbers, punctuation, spelling and script are levelled."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pypinyin

if TYPE_CHECKING:
    from collections.abc import Callable

_NOT_WORD = re.compile(r"[\W_]+")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)-?(?=\d)")
_NUMBER = re.compile(r"\d+")
_DIGITS = "零一二三四五六七八九"
_DIGIT_NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_UNITS = ("", "十", "百", "千")
_READ_AS_NUMBER = 5
"""Longer runs of digits are read digit by digit, as telephone numbers are."""


def normalise(text: str, language: str) -> str:
    """``text`` as it is compared: English in normal words, Chinese as simplified characters without spaces."""
    return _chinese(text) if language == "zh" else _spoken_english(text)


def sound_letters(text: str, language: str) -> str:
    """``text`` as letters without spaces; Chinese by its syllables without tones, where words that sound alike are one."""
    plain = normalise(text, language)
    return "".join(pypinyin.lazy_pinyin(plain)) if language == "zh" else plain.replace(" ", "")


def _spoken_english(text: str) -> str:
    # "1-2-3" and "one, two, three" are the same words, however the normaliser joins the figures.
    apart = _BETWEEN_DIGITS.sub(" ", str(_english()(text)))
    words = re.sub(r"\d", lambda digit: _DIGIT_NAMES[int(digit[0])], apart).split()
    return " ".join(word for word in words if any(char.isalnum() for char in word))


def _chinese(text: str) -> str:
    basic = str(_basic()(text))
    simplified = _opencc().convert(basic)
    spoken = _NUMBER.sub(lambda match: number_spoken(match[0]), simplified)
    return _NOT_WORD.sub("", spoken).replace("〇", "零").replace("两", "二").lower()


def number_spoken(digits: str) -> str:
    """Chinese for a number in figures: 42 is 四十二; five figures and more are read one by one."""
    if len(digits) >= _READ_AS_NUMBER or (len(digits) > 1 and digits[0] == "0"):
        return "".join(_DIGITS[int(digit)] for digit in digits)
    spoken = ""
    for place, digit in zip(range(len(digits) - 1, -1, -1), digits, strict=True):
        if digit != "0":
            spoken += _DIGITS[int(digit)] + _UNITS[place]
        elif spoken and not spoken.endswith("零"):
            spoken += "零"
    spoken = spoken.rstrip("零") or "零"
    return spoken[1:] if spoken.startswith("一十") else spoken


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
