"""What was to be said held against what was heard, word by word (Chinese: character by character). Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Levenshtein

MOST = 2_000
"""Words of one line that are compared; nobody reads the differences of more."""
_CHINESE = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+|\s+")

Kind = Literal["same", "missing", "added", "other"]


@dataclass(frozen=True)
class Part:
    """A stretch of words: the same in both, missing from what was heard, added there, or heard as something else."""

    kind: Kind
    text: str
    heard: str = ""


def transcript_diff(text: str, heard: str, language: str) -> list[Part]:
    """The fewest changes that turn ``text`` into ``heard``; case, width and punctuation do not count."""
    mine, theirs = _tokens(text, language)[:MOST], _tokens(heard, language)[:MOST]
    glue = "" if language == "zh" else " "
    parts: list[Part] = []
    for code in Levenshtein.opcodes([_bare(word) for word in mine], [_bare(word) for word in theirs]):
        here = glue.join(mine[code.src_start : code.src_end])
        there = glue.join(theirs[code.dest_start : code.dest_end])
        match code.tag:
            case "equal":
                parts.append(Part("same", here))
            case "delete":
                parts.append(Part("missing", here))
            case "insert":
                parts.append(Part("added", there))
            case _:
                parts.append(Part("other", here, there))
    return parts


def _tokens(text: str, language: str) -> list[str]:
    words = _CHINESE.findall(text) if language == "zh" else text.split()
    return [word for word in words if _bare(word)]


def _bare(word: str) -> str:
    folded = unicodedata.normalize("NFKC", word).casefold()
    return "".join(char for char in folded if char.isalnum())
