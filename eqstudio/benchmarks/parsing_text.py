"""Text made plain before it is read: folded to NFKC, thinking blanked out, with a way back to where things stood."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

MAX_CHARS = 60_000
LONGEST_GAP = 2

_THINK = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THINK_TAIL = re.compile(r"\A.*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|(?:i )?(?:can ?not|can't|won't|will not) "
    r"(?:help|assist|answer|comply|listen|hear|process|access|provide|do that|make|judge|evaluate|play|fulfil)|"
    r"as an ai\b|unable to (?:help|assist|answer|listen|process|hear))"
    r"|抱歉|对不起|无法(?:回答|提供|处理|收听|听|协助|帮助|播放|访问)|不能(?:回答|提供|处理|协助|帮助)|拒绝回答",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"(?:\bif\b(?!\s+(?:i|we|you)\s+(?:had|have|must|were\s+(?:to|asked|forced))\b)|(?:^|[.,;!?\n]\s*)(?:were|had)\b)[^.;!?\n]{0,80}\bwould\b[^.;!?\n]{0,20}$"
    r"|(?:如果|假如|假设|要是|倘若)(?!要|让|必须|非要|一定)[^.;!?。\n]{0,30}$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reading:
    """What one reader found. ``seen`` says that something was meant as an answer, also when it cannot be used."""

    value: str | int | None = None
    rule: str = ""
    span: tuple[int, int] | None = None
    seen: bool = False


@dataclass(frozen=True)
class Folded:
    """NFKC text without thinking and without long runs of spaces (they say nothing, and searching through them takes long);
    ``index[i]`` is where character i stood in the original.
    """

    text: str
    index: tuple[int, ...]

    @classmethod
    def of(cls, raw: str) -> Folded:
        chars: list[str] = []
        index: list[int] = []
        for position, char in enumerate(raw[:MAX_CHARS]):
            for folded in _fold(char):
                chars.append(folded)
                index.append(position)
        return cls._short("".join(chars), index)

    @classmethod
    def _short(cls, text: str, index: list[int]) -> Folded:
        kept: list[int] = []
        blanked = _blank_thinking(text)
        spaces = 0
        for position, char in enumerate(blanked):
            spaces = spaces + 1 if char.isspace() and char != "\n" else 0
            if spaces <= LONGEST_GAP:
                kept.append(position)
        return cls("".join(blanked[position] for position in kept), tuple(index[position] for position in kept))

    @classmethod
    def plain(cls, raw: str) -> Folded:
        """Without folding: free text stays as it was written."""
        kept = raw[:MAX_CHARS]
        return cls(_blank_thinking(kept), tuple(range(len(kept))))

    def original_span(self, span: tuple[int, int] | None) -> tuple[int, int] | None:
        if span is None or not self.index or span[0] >= len(self.index):
            return None
        start, end = span
        return self.index[start], self.index[min(max(start, end - 1), len(self.index) - 1)] + 1


def _fold(char: str) -> str:
    if char in "’‘":
        return "'"
    if char in "“”":
        return '"'
    return unicodedata.normalize("NFKC", char)


def _blank_thinking(text: str) -> str:
    blanked = _THINK.sub(lambda match: _blank(match.group()), text)
    tail = _THINK_TAIL.match(blanked)
    return _blank(tail.group()) + blanked[tail.end() :] if tail else blanked


def _blank(text: str) -> str:
    """As many characters, none of them saying anything; lines stay lines."""
    return re.sub(r"[^\n]", " ", text)


def blank_matches(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: _blank(match.group()), text)


def is_refusal(text: str) -> bool:
    """Whether the text declines to answer. An undecided answer is not a refusal."""
    return _REFUSAL.search(text) is not None


def is_supposed(before: str) -> bool:
    """Whether what follows ``before`` is only supposed: ``if it were warmer, I would``, ``如果语气再温和些，``. The politeness of
    ``if I had to choose, I would`` supposes nothing.
    """
    return _SUPPOSED.search(before) is not None
