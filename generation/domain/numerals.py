"""Chinese numbers in figures: 二十一, 二零二五 and 三万五千 as 21, 2025 and 35000, however they are mixed with digits."""

from __future__ import annotations

import re

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS = {"万": 10_000, "亿": 100_000_000}
MOST_NUMERALS = 40
"""More in a row are no number but a transcriber that has lost itself."""
_FIGURES = f"0-9{''.join(_DIGITS)}"
_NUMERALS = f"{_FIGURES}{''.join((*_UNITS, *_MYRIADS))}"
_RUN = re.compile(f"[{_NUMERALS}]+")
_TOKEN = re.compile(r"[0-9]+|.")
_PERCENT = re.compile(r"百分之([0-9]+(?:点[0-9]+)?)")
_DECIMAL = re.compile(r"([0-9]+)\.([0-9]+)")
_MULTIPLE = re.compile(f"([{_NUMERALS}]{{1,20}})点([{_FIGURES}]{{1,20}})([万亿]{{1,3}})")
"""1.2亿: a fraction of a unit."""
_CLOCK = re.compile(r"(?<![0-9:])([0-9]{1,2}):([0-9]{2})(?![0-9:])")
_MINUTES = re.compile(r"([0-9]{1,2}点[0-9]{1,2})分(?!之)")
_TENTHS = frozenset("百千万亿")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")


def numbers_in_figures(text: str) -> str:
    """``text`` (simplified) with every number in Arabic figures; percentages, decimals and times of day are written one way,
    10:15 as 10点15, for 分 may be said or not.
    """
    text = _CLOCK.sub(lambda time: f"{time[1]}点{'' if time[2] == '00' else time[2]}", text)
    text = _DECIMAL.sub(r"\1点\2", _THOUSANDS.sub("", text)).replace("％", "%")
    text = _MULTIPLE.sub(_multiplied, _percent_parted(text))
    figures = _RUN.sub(lambda match: number_value(match[0]), text)
    return _MINUTES.sub(r"\1", _PERCENT.sub(r"\1%", figures.replace("\x00", "百分之")))


def _percent_parted(text: str) -> str:
    """百分之 begins with what looks like a hundred; it is set aside while numbers are read."""
    return text.replace("百分之", "\x00")


def _multiplied(match: re.Match[str]) -> str:
    """The whole number that a decimal before a unit is, or the words as they were when it is none."""
    fraction, unit = number_value(match[2]), int(number_value(match[3]))
    whole, left = divmod(int(number_value(match[1]) + fraction) * unit, 10 ** len(fraction))
    return match[0] if left else str(whole)


def number_value(run: str) -> str:
    """A run of numerals, units and digits in figures. Without a unit it is read digit by digit, as years are; a last digit
    straight behind a unit is tenths of it, as in 三千五.
    """
    if not any(character in _UNITS or character in _MYRIADS for character in run):
        return "".join(str(_DIGITS.get(character, character)) for character in run)
    if len(run) > MOST_NUMERALS:
        return run
    parts = _TOKEN.findall(run)
    yi = wan = section = 0  # what stands before the last 亿, behind it before 万, and behind that
    pending: int | None = None
    for part in parts:
        if part in _UNITS:
            section += (1 if pending is None else pending) * _UNITS[part]
            pending = None
        elif part in _MYRIADS:
            wan, section, pending = wan + section + (pending or 0), 0, None
            if part == "亿" or (yi and not wan):
                yi, wan = (yi + wan or 1) * _MYRIADS[part], 0
            else:
                wan = (wan or 1) * _MYRIADS[part]
        else:
            digit = int(part) if part.isdigit() else _DIGITS[part]
            pending = digit if not pending else pending * 10 ** len(str(digit)) + digit
    if len(parts) > 1 and parts[-2] in _TENTHS and len(str(pending)) == 1:
        pending = (pending or 0) * (_UNITS | _MYRIADS)[parts[-2]] // 10
    return str(yi + wan + section + (pending or 0))
