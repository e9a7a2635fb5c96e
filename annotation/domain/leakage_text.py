"""Near-copies among many texts, in English and Chinese, exactly found and in bounded memory.

A text is the set of its overlapping pieces (five letters, or three Chinese characters) after NFKC and case folding, without
spaces and punctuation. Of each text on the shorter list only the rarer half of its pieces is kept, in an index; every text
of the longer list is held against it by one sparse matrix product per block. Changing one token in twelve spoils at most a
third of the pieces, so a near-copy keeps at least a third of that half (prefix filtering: Chaudhuri, Ganti and Kaushik
2006). What shares so much is measured by rapidfuzz: the share of letters in the longest common subsequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz
from scipy import sparse

from annotation.domain.leakage import text_key

NEAR = 0.85
"""From this similarity on two texts are near-copies. One token in twelve changed leaves 0.87 or more."""
SHORTEST = 12
"""Letters a text must have to be compared: shorter ones are alike by chance."""
_LETTERS, _CHARACTERS = 5, 3
_KEPT = 0.5
_SPOILT = 1 / 3
_CELLS = 16_000_000
_BLOCK_LETTERS = 2_000_000
_CJK = (0x2E80, 0xD7FF)
_PRIME = np.uint64(1_099_511_628_211)

Keys = NDArray[np.uint64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Near:
    """Text ``here`` of the one list and text ``there`` of the other are alike to ``score`` (0-1)."""

    here: int
    there: int
    score: float


def near_pairs(
    here: Sequence[str],
    there: Sequence[str] | None = None,
    *,
    least: float = NEAR,
    advance: Callable[[int], object] = lambda _rows: None,
) -> Iterator[Near]:
    """Every pair of near-copies, across two lists or, with one, within it. Exact copies are pairs with score 1.

    ``advance`` hears of so many more texts of the longer list as are compared.

    Memory: the index of the shorter list and one block of the longer one, however long that is.
    """
    within = there is None
    mine = [text_key(text) for text in here]
    others = mine if there is None else [text_key(text) for text in there]
    swapped = len(mine) > len(others)
    small, large = (others, mine) if swapped else (mine, others)
    for size, wide in ((_LETTERS, False), (_CHARACTERS, True)):
        small_places = [place for place, text in enumerate(small) if _fits(text, wide=wide)]
        large_places = [place for place, text in enumerate(large) if _fits(text, wide=wide)]
        if not small_places or not large_places:
            continue
        index = _Index([small[place] for place in small_places], size)
        for block in _blocks(large, large_places, len(small_places)):
            for row, column in index.candidates([large[place] for place in block]):
                a, b = small_places[column], block[row]
                if within and a >= b:
                    continue
                score = fuzz.ratio(small[a], large[b], score_cutoff=least * 100) / 100
                if score >= least:
                    yield Near(b, a, score) if swapped else Near(a, b, score)
            advance(len(block))


def _fits(text: str, *, wide: bool) -> bool:
    if len(text) < (SHORTEST // 2 if wide else SHORTEST):
        return False
    low, high = _CJK
    return wide == (sum(low <= ord(letter) <= high for letter in text) * 2 > len(text))


def _blocks(texts: Sequence[str], places: list[int], width: int) -> Iterator[list[int]]:
    """Places in runs whose product with the index stays within bounds."""
    most = max(16, _CELLS // max(1, width))
    block: list[int] = []
    letters = 0
    for place in places:
        block.append(place)
        letters += len(texts[place])
        if len(block) >= most or letters >= _BLOCK_LETTERS:
            yield block
            block, letters = [], 0
    if block:
        yield block


def _pieces(texts: Sequence[str], size: int) -> tuple[Keys, Ints]:
    """Hashes of all pieces of all texts, and the text of each; a piece never crosses from one text into the next."""
    letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    keys = np.zeros(max(0, len(letters) - size + 1), dtype=np.uint64)
    for offset in range(size):
        keys = keys * _PRIME + letters[offset : offset + len(keys)] + np.uint64(1)
        keys ^= keys >> np.uint64(29)
    owner = np.repeat(np.arange(len(texts), dtype=np.int64), lengths)[: len(keys)]
    ends = np.repeat(np.cumsum(lengths), lengths)[: len(keys)]
    whole = np.arange(len(keys)) + size <= ends
    return keys[whole], owner[whole]


class _Index:
    """The rarer half of the pieces of each text, as a sparse matrix of pieces by texts."""

    def __init__(self, texts: Sequence[str], size: int) -> None:
        self.size = size
        parts = [self._unique(block, start) for start, block in _slices(texts)]
        keys = np.concatenate([part[0] for part in parts])
        owner = np.concatenate([part[1] for part in parts])
        vocabulary, codes, frequency = np.unique(keys, return_inverse=True, return_counts=True)
        order = np.lexsort((codes, frequency[codes], owner))
        owner, codes = owner[order], codes[order]
        counts = np.bincount(owner, minlength=len(texts))
        rank = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        kept = np.ceil(counts * _KEPT).astype(np.int64)
        chosen = rank < kept[owner]
        owner, codes = owner[chosen], codes[chosen]
        used, columns = np.unique(codes, return_inverse=True)
        self.vocabulary = vocabulary[used]
        self.needed = np.maximum(1, np.floor(kept - counts * _SPOILT)).astype(np.int32)
        self.matrix = sparse.csr_array(
            (np.ones(len(owner), dtype=np.int32), (columns, owner)), shape=(len(used), len(texts))
        )

    def _unique(self, texts: Sequence[str], start: int = 0) -> tuple[Keys, Ints]:
        keys, owner = _pieces(texts, self.size)
        order = np.lexsort((keys, owner))
        keys, owner = keys[order], owner[order]
        first = np.ones(len(keys), dtype=bool)
        first[1:] = (keys[1:] != keys[:-1]) | (owner[1:] != owner[:-1])
        return keys[first], owner[first] + start

    def candidates(self, texts: Sequence[str]) -> Iterator[tuple[int, int]]:
        """(place in the block, place in the index) of every pair that shares enough of the kept pieces."""
        keys, owner = _pieces(texts, self.size)
        places = np.searchsorted(self.vocabulary, keys)
        places[places == len(self.vocabulary)] = 0
        known = self.vocabulary[places] == keys
        pairs = np.unique(owner[known] * len(self.vocabulary) + places[known])
        owner, places = np.divmod(pairs, len(self.vocabulary))
        block = sparse.csr_array(
            (np.ones(len(owner), dtype=np.int32), (owner, places)), shape=(len(texts), len(self.vocabulary))
        )
        shared = (block @ self.matrix).tocoo()
        enough = shared.data >= self.needed[shared.col]
        yield from zip(shared.row[enough].tolist(), shared.col[enough].tolist(), strict=True)


def _slices(texts: Sequence[str], size: int = 5_000) -> Iterator[tuple[int, Sequence[str]]]:
    for start in range(0, len(texts), size):
        yield start, texts[start : start + size]
