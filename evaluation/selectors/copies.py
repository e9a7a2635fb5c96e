"""Which dialogues are copies of others: whoever has met the one has met the other, whatever its id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from annotation.domain.leakage import text_key
from annotation.selectors.split_content import contents


class Met(NamedTuple):
    """What is heard in some dialogues: SHA-256 of their clips, and the words of each as keys of its lines."""

    clips: frozenset[str]
    words: frozenset[frozenset[str]]


class Copy(NamedTuple):
    """What a dialogue, by its primary key, has in common with others."""

    dialogue: int
    sound: bool
    words: bool

    @property
    def found(self) -> bool:
        return self.sound or self.words


def met_in(dialogues: Sequence[int]) -> Met:
    """What is heard in these dialogues; two queries per 500 of them."""
    clips: set[str] = set()
    words: set[frozenset[str]] = set()
    for content in contents(dialogues):
        clips.update(content.clips.values())
        words.add(_words(content.text))
    return Met(frozenset(clips), frozenset(words) - {frozenset()})


def copies_read(dialogues: Sequence[int], met: Met) -> Iterator[Copy]:
    """Of each dialogue, in order, whether a recording or all of its words were met. Case, punctuation and spaces are no words."""
    for content in contents(dialogues):
        yield Copy(
            dialogue=content.row["pk"],
            sound=not met.clips.isdisjoint(content.clips.values()),
            words=_words(content.text) in met.words,
        )


def _words(text: str) -> frozenset[str]:
    lines: Iterable[str] = (text_key(line) for line in text.splitlines())
    return frozenset(line for line in lines if line)
