"""What is told of a frozen split in what leaves the studio."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.crypto import salted_hmac

from annotation.models import Round, Split


def manifest_head(*, split: Split) -> dict[str, Any]:
    """The manifest without its items, with its hash."""
    head = {name: value for name, value in split.manifest.items() if name != "items"}
    return {**head, "manifest_hash": split.manifest_hash}


def manifest_entries(*, split: Split) -> Iterator[dict[str, Any]]:
    """What the manifest says of each item, in order."""
    yield from split.manifest["items"]


def split_rounds(*, split: Split) -> list[Round]:
    """The rounds whose judgements count for a split."""
    return [split.round] if split.round is not None else []


def pseudonym(*, split: Split, person: int | str) -> str:
    """The same for a person all through one split, another one in the next; nobody outside can turn it back."""
    return f"judge-{salted_hmac(f'annotation.split.{split.uid}', str(person), algorithm='sha256').hexdigest()[:12]}"
