"""What changed between two versions of a split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotation.models import Split

_ROW = ("dialogue_id", "identity", "side", "dialogue__uid", "dialogue__title", "entry__judgements")


@dataclass(frozen=True)
class Difference:
    """Items by what became of them, as (uid, title, was, is); and the keys of the recipe that differ, as (key, was, is)."""

    added: list[tuple[str, str, str, str]]
    removed: list[tuple[str, str, str, str]]
    moved: list[tuple[str, str, str, str]]
    changed: list[tuple[str, str, str, str]]
    judged: list[tuple[str, str, str, str]]
    same: int
    recipe: list[tuple[str, Any, Any]]
    withdrawn: list[dict[str, Any]]


def _rows(split: Split) -> dict[int, tuple[Any, ...]]:
    return {row[0]: row for row in split.items.order_by("position").values_list(*_ROW).iterator()}


def split_difference(*, old: Split, new: Split) -> Difference:
    """Compare two splits item by item; two queries."""
    before, after = _rows(old), _rows(new)
    both = [(before[key], after[key]) for key in after if key in before]

    def told(row: tuple[Any, ...], was: str, now: str) -> tuple[str, str, str, str]:
        return row[3], row[4], was, now

    changed = [told(b, a[1][:12], b[1][:12]) for a, b in both if a[1] != b[1]]
    moved = [told(b, a[2], b[2]) for a, b in both if a[2] != b[2]]
    judged = [told(b, _votes(a[5]), _votes(b[5])) for a, b in both if a[5] != b[5]]
    keys = sorted({*old.recipe, *new.recipe})
    return Difference(
        added=[told(row, "", row[2]) for key, row in after.items() if key not in before],
        removed=[told(row, row[2], "") for key, row in before.items() if key not in after],
        moved=moved,
        changed=changed,
        judged=judged,
        same=sum(a[1:3] == b[1:3] and a[5] == b[5] for a, b in both),
        recipe=[
            (key, old.recipe.get(key), new.recipe.get(key))
            for key in keys
            if old.recipe.get(key) != new.recipe.get(key)
        ],
        withdrawn=new.manifest.get("withdrawn", []),
    )


def _votes(judgements: dict[str, Any] | None) -> str:
    votes = (judgements or {}).get("votes", {})
    return ", ".join(f"{verdict} {count}" for verdict, count in votes.items())
