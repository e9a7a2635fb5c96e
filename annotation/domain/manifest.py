"""The manifest of a split, and the hash that names its content.

The hash says *what* is in the split, not where or when it was frozen: the same dialogues, clips, judgements and recipe give
the same hash on every machine. So it covers content identity (text, clip SHA-256, external ids, counted votes, the recipe,
the benchmark and its version) and leaves out random public ids, names, times, code versions and packages, which the
manifest holds too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

HASHED = ("format", "benchmark", "benchmark_version", "recipe")
ITEM_HASHED = ("external_id", "content", "clips", "category", "language", "side", "judgements")


def canonical(document: Any) -> bytes:
    """One spelling of a JSON document: sorted keys, no spaces, UTF-8."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def content_hash(document: Any) -> str:
    return hashlib.sha256(canonical(document)).hexdigest()


def manifest_hash(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of the manifest without what is volatile; the order of the items does not matter."""
    items = [{name: item[name] for name in ITEM_HASHED} for item in manifest["items"]]
    stable = {name: manifest[name] for name in HASHED}
    return content_hash({**stable, "items": sorted(items, key=canonical)})
