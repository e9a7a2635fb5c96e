"""The manifest of a split, and the hash that names its content.

The hash says *what* is in the split, not where or when it was frozen: the same dialogues, clips, judgements and recipe give
the same hash on every machine. So it covers content identity (text, clip SHA-256, external ids, sides, counted votes, the
recipe, the benchmark and its version) and leaves out random public ids, names, times, audits, code versions and packages,
which the manifest holds too.

Format 2: the hash is the SHA-256 of the canonical JSON of the hashed keys of the head with ``items``, the sorted list of the
SHA-256 of each item's hashed keys. So it can be computed item by item, in any order. Format 1 had the items themselves there.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

FORMAT = 2
HASHED = ("format", "benchmark", "benchmark_version", "recipe")
ITEM_HASHED = (
    "external_id", "content", "clips", "category", "language", "valence", "source", "side", "judgements",
)  # fmt: skip
_ITEM_HASHED_1 = ("external_id", "content", "clips", "category", "language", "side", "judgements")
_CANARIES = uuid.UUID("6f0f4d3c-6a53-4c1c-9d3e-1f6d1f0a7e55")


def canonical(document: Any) -> bytes:
    """One spelling of a JSON document: sorted keys, no spaces, UTF-8. A lone surrogate raises UnicodeEncodeError."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def content_hash(document: Any) -> str:
    return hashlib.sha256(canonical(document)).hexdigest()


def item_hash(entry: Mapping[str, Any]) -> str:
    """What one item adds to the hash of its manifest."""
    return content_hash({name: entry.get(name) for name in ITEM_HASHED})


def head_hash(head: Mapping[str, Any], items: Iterable[str]) -> str:
    """The manifest hash from the head and the ``item_hash`` of every item."""
    return content_hash({**{name: head[name] for name in HASHED}, "items": sorted(items)})


def manifest_hash(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of a whole manifest without what is volatile; the order of the items does not matter."""
    if manifest["format"] == 1:
        items = [{name: item[name] for name in _ITEM_HASHED_1} for item in manifest["items"]]
        return content_hash({**{name: manifest[name] for name in HASHED}, "items": sorted(items, key=canonical)})
    return head_hash(manifest, (item_hash(item) for item in manifest["items"]))


def canary_string(digest: str) -> str:
    """A string that occurs in no text by chance, made of a manifest hash: who finds it in a model has found the split."""
    return f"eqstudio-canary-{uuid.uuid5(_CANARIES, digest)}"
