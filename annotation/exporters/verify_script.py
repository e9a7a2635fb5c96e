"""Is this export whole and unchanged? Run it inside the folder: python3 verify.py. It needs Python alone.

It reads SHA256SUMS, hashes every file, and works out the manifest hash from manifest.json: SHA-256 over the fields that the
manifest names under "hashed", as JSON with sorted keys and without spaces, the items sorted by their own spelling.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def spelled(document: object) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def manifest_hash(manifest: dict) -> str:
    items = [{name: item[name] for name in manifest["hashed"]["item"]} for item in manifest["items"]]
    stable = {name: manifest[name] for name in manifest["hashed"]["manifest"]}
    return hashlib.sha256(spelled({**stable, "items": sorted(items, key=spelled)})).hexdigest()


def file_hash(path: Path) -> str:
    with path.open("rb") as handle:
        found = hashlib.sha256()
        while block := handle.read(1024 * 1024):
            found.update(block)
    return found.hexdigest()


def problems() -> Iterator[str]:
    named = set()
    for line in (FOLDER / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        expected, _, name = line.partition("  ")
        named.add(name)
        path = FOLDER / name
        if not path.is_file():
            yield f"missing: {name}"
        elif file_hash(path) != expected:
            yield f"changed: {name}"
    for path in sorted(FOLDER.rglob("*")):
        name = path.relative_to(FOLDER).as_posix()
        if path.is_file() and name not in named and name != "SHA256SUMS" and "__pycache__" not in name:
            yield f"not in SHA256SUMS: {name}"
    manifest = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    if manifest_hash(manifest) != manifest["hash"]:
        yield "the manifest does not give its own hash"


if __name__ == "__main__":
    found = list(problems())
    sys.stdout.write("\n".join(found) + "\n" if found else "whole and unchanged\n")
    raise SystemExit(1 if found else 0)
