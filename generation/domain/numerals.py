"""Chinese numbers in figures: 二十一, 二零二五 and 三万五千 as 21, 2025 and 35000, however they are mixed with digits."""

from __future__ import annotations

import re

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS = {"万": 10_000, "亿": 100_000_000}
_RUN = re.compile(rf"[0-9{''.join((*_DIGITS, *_UNITS, *_MYRIADS))}]+")
_TOKEN = re.compile(r"[0-9]+|.")
_PERCENT = re.compile(r"百分之([0-9]+(?:点[0-9]+)?)")
_DECIMAL = re.compile(r"([0-9]+)\.([0-9]+)")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


def numbers_in_figures(text: str) -> str:
    """``text`` (simplified) with every number in Arabic figures, percentages and decimals written one way."""
    text = _DECIMAL.sub(r"\1点\2", _THOUSANDS.sub("", text)).replace("％", "%")
    figures = _RUN.sub(lambda match: number_value(match[0]), _percent_parted(text))
    return _PERCENT.sub(r"\1%", figures.replace("\x00", "百分之"))


def _percent_parted(text: str) -> str:
    """百分之 begins with what looks like a hundred; it is set aside while numbers are read."""
    return text.replace("百分之", "\x00")


def number_value(run: str) -> str:
    """A run of numerals, units and digits in figures. Without a unit it is read digit by digit, as years are."""
    if not any(character in _UNITS or character in _MYRIADS for character in run):
        return "".join(str(_DIGITS.get(character, character)) for character in run)
    total = section = 0
    pending: int | None = None
    for token in _TOKEN.findall(run):
        if token in _MYRIADS:
            section += pending or 0
            total = (total + (section or (0 if total else 1))) * _MYRIADS[token]
            section, pending = 0, None
        elif token in _UNITS:
            section += (1 if pending is None else pending) * _UNITS[token]
            pending = None
        else:
            digit = int(token) if token.isdigit() else _DIGITS[token]
            pending = digit if not pending else pending * 10 ** len(str(digit)) + digit
    return str(total + section + (pending or 0))
