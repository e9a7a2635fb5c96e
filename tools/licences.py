"""Lists the licence of every installed package and fails on one that is not permissive, unless a reason is written here."""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distributions

RESTRICTED = re.compile(
    r"\b(not stated|A?GPL|LGPL|GNU|Affero|Lesser General|non-?commercial|NC-ND|BY-NC|CC-NC|SSPL|BUSL|Commons Clause)",
    re.IGNORECASE,
)

ALLOWED = {
    "krippendorff": "GPL; the reference implementation of the coefficient, imported only by the agreement module",
    "psycopg": "LGPL; used as a library, unchanged",
    "psycopg-binary": "LGPL; used as a library, unchanged",
    "soxr": "LGPL; used as a library, unchanged",
    "num2words": "LGPL; used as a library, unchanged",
    "mlcroissant": "Apache-2.0 by its repository, which its package leaves unsaid; only tests use it",
}
"""Package -> why its licence is bearable."""

READ = {"pyworld-prebuilt": "MIT", "vl-convert-python": "BSD-3-Clause"}
"""Packages whose metadata names no licence -> what the licence file in them says."""


def licence(distribution: Distribution) -> str:
    """The licence as the package states it: its expression, its classifiers, or the first line of its free text."""
    meta = distribution.metadata
    stated = [meta.get("License-Expression", "")]
    stated += [
        entry.rpartition("::")[2].strip() for entry in meta.get_all("Classifier", []) if entry.startswith("License ::")
    ]
    stated = [text for text in stated if text and text != "OSI Approved"]
    if not stated:
        text = meta.get("License", "") or READ.get(meta["Name"].lower().replace("_", "-"), "not stated")
        stated = [text.strip().splitlines()[0][:60]]
    return "; ".join(stated)


def refused(rows: dict[str, str]) -> list[str]:
    """The packages with a restrictive licence and no reason. ``A OR B`` lets one choose, so one free choice suffices."""
    return [
        name
        for name, text in rows.items()
        if name not in ALLOWED and all(RESTRICTED.search(part) for part in text.split(" OR "))
    ]


def main() -> int:
    rows = {d.metadata["Name"].lower().replace("_", "-"): licence(d) for d in distributions() if d.metadata["Name"]}
    if "--list" in sys.argv:
        for name, text in sorted(rows.items()):
            print(f"{name:<36} {text}{'   (' + ALLOWED[name] + ')' if name in ALLOWED else ''}")
    bad = refused(rows)
    for name in bad:
        print(f"{name}: {rows[name]} is not permissive. Replace it, or write a reason into tools/licences.py.")
    print(f"{len(rows)} packages, {len(bad)} refused")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
