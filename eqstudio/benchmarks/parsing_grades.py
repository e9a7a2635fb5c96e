"""Which grade a text gives: whole numbers inside the scale only."""

from __future__ import annotations

import re
from typing import NamedTuple

from eqstudio.benchmarks.parsing_text import Reading, is_supposed

_WORDS = {
    **dict(
        zip(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], range(1, 11), strict=True)
    ),
    **dict(zip("一二三四五六七八九十", range(1, 11), strict=True)),
    "两": 2,
}
_LATIN = "|".join(word for word in _WORDS if word.isascii())
_HAN = "[一二两三四五六七八九十]"
_NUMBER = rf"(?P<number>[-+]?\d+(?:[.,]\d+)?|\b(?:{_LATIN})\b|{_HAN}(?=\s*(?:分|级|$|[\s.,。,;!)])))"
_TAIL = (
    rf"(?P<over>\s*(?:/|out\s+of|of)\s*(?P<top>\d+(?:\.\d+)?))?(?P<unit>\s*(?:分|级|points?\b))?"
    rf"(?P<range>\s*(?:-|–|—|~|\bto\b|\bor\b|\band\b|到|至|或)\s*(?:\d|(?:{_LATIN})\b|{_HAN}))?"
)
_OPEN = r"[\s*_`\"'(\[{$\\<]*+(?:boxed\{|text\{)?+[\s*_`\"'(\[{]*+"
_CUE = r"(?:\b(?:final\s+)?(?:score|grade|rating|rate|answer|mark|level|deserve|say)(?:s|d)?\b|评分|分数|得分|打分|等级|评级|答案|评为|打|给|总分)"
_EXPLICIT = re.compile(
    rf"{_CUE}(?:[*_`\"']*+\s*+(?:\([^)\n]{{0,30}}\))?+\s*+(?:is|was|would\s+be|as|of|it|this|a|an|为|是|[:=])?+){{1,3}}"
    rf"(?:\s*+(?:a|an)\s)?{_OPEN}{_NUMBER}{_TAIL}",
    re.IGNORECASE,
)
_AFTER_COLON = re.compile(rf"{_CUE}[^\n:]{{0,60}}:{_OPEN}{_NUMBER}{_TAIL}", re.IGNORECASE)
_TAG = re.compile(rf"<(score|grade|rating|answer)>\s*{_NUMBER}{_TAIL}\s*</\1>", re.IGNORECASE)
_BOXED = re.compile(rf"\\boxed\s*\{{\s*{_NUMBER}{_TAIL}\s*\}}", re.IGNORECASE)
_WHOLE = re.compile(rf"[\s*_`\"'(\[#]*{_NUMBER}{_TAIL}[\s*_`\"')\].。!]*", re.IGNORECASE)
_OUT_OF = re.compile(
    rf"(?<![\d.,/]){_NUMBER}(?P<over>\s*(?:/|out\s+of)\s*(?P<top>\d+(?:\.\d+)?))(?P<range>)(?![\d/])", re.IGNORECASE
)
_POINTS = re.compile(
    rf"(?<![\d.,/-])(?<!满分)(?<!共)(?P<number>\d+(?:\.\d+)?|{_HAN})\s*分(?![钟之数开享析明])(?P<top>)(?P<range>)"
)
_BETWEEN = re.compile(r"\bbetween\b|介于|之间", re.IGNORECASE)
_CLAUSE = r"[^.,;:!?()。\n]"
_DENIED = re.compile(
    rf"(?:\b(?:not|never|cannot|hardly|unless|if|nowhere\s+near|short\s+of|less\s+than|more\s+than|below|above|close\s+to)\b|n't\b)"
    rf"(?:(?!\b(?:so|but|therefore|hence|thus)\b){_CLAUSE}){{0,40}}$"
    rf"|(?:(?<![差毫])不(?!过|错)|没|未|难以?|别){_CLAUSE}{{0,4}}$|(?:比|低于|高于|接近|将近|不足)\s*$",
    re.IGNORECASE,
)
"""What stands before a grade that is not given."""
_WANTING = re.compile(
    rf"\s*(?:(?:is|was|would\s+be)\s+(?:not|too|wrong|undeserved)\b|(?:is|was|would)n't\b|(?:would\s+)?(?:needs?|requires?|take)\b)"
    rf"|{_CLAUSE}{{0,40}}\b(?:if|unless)\b|\s*(?:太|不)",
    re.IGNORECASE,
)
"""What stands after one."""


class _Found(NamedTuple):
    grade: int | None
    start: int
    end: int


def grade_read(text: str, scale: tuple[int, int]) -> Reading:
    """Walk the levels; a decimal, a range or a number off the scale on a level is no answer."""
    if not text.strip():
        return Reading()
    levels = (
        ("tag", [_Found(*_take(match, scale)) for match in _TAG.finditer(text)]),
        ("line", _last_line(text, scale)),
        ("boxed", [_Found(*_take(match, scale)) for match in _BOXED.finditer(text)]),
        ("token", _bare_lines(text, scale)),
        ("out-of", _anywhere(text, scale)),
    )
    for rule, found in levels:
        if not found:
            continue
        grades = {part.grade for part in found}
        last = found[-1]
        if len(grades) > 1 or last.grade is None:
            return Reading(rule=rule, seen=True)
        return Reading(value=last.grade, rule=rule, span=(last.start, last.end), seen=True)
    return Reading()


def _take(match: re.Match[str], scale: tuple[int, int]) -> tuple[int | None, int, int]:
    start, end = match.span("number")
    top = match.group("top")
    if match.group("range") or (top and float(top) != scale[1]):
        return None, start, end
    word = match.group("number").lower()
    number = _WORDS.get(word)
    if number is None:
        number = int(word) if word.isdigit() and word.isascii() and len(word) < 6 else None  # noqa: PLR2004 -- no grade is longer
    if number is None or not scale[0] <= number <= scale[1]:
        return None, start, end
    return number, start, end


def _last_line(text: str, scale: tuple[int, int]) -> list[_Found]:
    offset = len(text)
    for line in reversed(text.split("\n")):
        offset -= len(line)
        found = []
        for pattern in (_EXPLICIT, _AFTER_COLON):
            matches = [
                match
                for match in pattern.finditer(line)
                if not _BETWEEN.search(match.group()) and not _in_doubt(line, match)
            ]
            if matches:
                found = [_shift(_take(match, scale), offset) for match in matches]
                break
        if found:
            return found
        offset -= 1
    return []


def _bare_lines(text: str, scale: tuple[int, int]) -> list[_Found]:
    found, offset = [], 0
    for line in text.split("\n"):
        match = _WHOLE.fullmatch(line) if len(line) < 80 else None  # noqa: PLR2004 -- longer is prose
        if match:
            found.append(_shift(_take(match, scale), offset))
        offset += len(line) + 1
    return found


def _anywhere(text: str, scale: tuple[int, int]) -> list[_Found]:
    found: list[_Found] = []
    for pattern in (_OUT_OF, _POINTS):
        found.extend(_Found(*_take(match, scale)) for match in pattern.finditer(text) if not _in_doubt(text, match))
    return found


def _in_doubt(text: str, match: re.Match[str]) -> bool:
    """Whether the grade is denied, supposed or wished for: ``it doesn't deserve a 4``, ``a 4 if warmer``, ``达不到4分``."""
    before = text[max(0, match.start() - 100) : match.start("number")]
    cue = text[max(0, match.start() - 100) : match.start()]
    return _DENIED.search(cue) is not None or is_supposed(before) or _WANTING.match(text, match.end()) is not None


def _shift(taken: tuple[int | None, int, int], offset: int) -> _Found:
    grade, start, end = taken
    return _Found(grade, start + offset, end + offset)
