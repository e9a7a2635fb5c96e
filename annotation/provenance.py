"""Which code, on which packages, made a result."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import eqstudio

_ROOT = Path(eqstudio.__file__).resolve().parent.parent


@cache
def code_identity() -> dict[str, Any]:
    """Version of the studio, git revision (None outside a checkout), Python, and every installed package."""
    packages = {distribution.metadata["Name"]: distribution.version for distribution in distributions()}
    return {
        "version": eqstudio.__version__,
        "git": git_revision(),
        "python": sys.version.split()[0],
        "packages": dict(sorted(packages.items())),
    }


@cache
def git_revision() -> str | None:
    """The revision of the checkout this code runs from, or None."""
    command = ["git", "-C", str(_ROOT), "rev-parse", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None if found.returncode == 0 else None
