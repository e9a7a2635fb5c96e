"""Does what is told about people single one of them out? k-anonymity after Sweeney (2002): every combination of personal
values is shared by at least k people; columns that prevent it are left out, those with the most different values first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

K = 5


@dataclass(frozen=True)
class Anonymity:
    """``kept`` columns may be told, ``dropped`` ones may not; ``smallest`` is the size of the smallest group then."""

    k: int
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    smallest: int

    @property
    def holds(self) -> bool:
        """Whether even the rows without personal columns are k alike; otherwise there are fewer than k people."""
        return self.smallest >= self.k


def anonymity(rows: Sequence[Mapping[str, str]], columns: Sequence[str], *, k: int = K) -> Anonymity:
    """Which ``columns`` may be told of these people."""
    kept = list(columns)
    while kept and rows and _smallest(rows, kept) < k:
        kept.remove(max(kept, key=lambda name: (len({row[name] for row in rows}), name)))
    dropped = tuple(name for name in columns if name not in kept)
    return Anonymity(k=k, kept=tuple(kept), dropped=dropped, smallest=_smallest(rows, kept) if rows else 0)


def _smallest(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> int:
    return min(Counter(tuple(row[name] for name in columns) for row in rows).values())
