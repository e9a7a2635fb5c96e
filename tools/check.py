"""`make check`: everything that can be said about the tree without running the suite. All checks run, as many at a time as
there are processors; one summary ends it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
SOURCES = ["eqstudio", "generation", "annotation", "evaluation", "demo", "tests", "tools", "manage.py"]


def checks() -> dict[str, list[str]]:
    """Name of a check -> its command line."""
    sources = [name for name in SOURCES if (ROOT / name).exists()]
    templates = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "templates").rglob("*.html"))
    manage = [sys.executable, "manage.py"]
    return {
        "types": [f"{BIN}/mypy", "--no-error-summary"],  # first, because it takes longest
        "lint": [f"{BIN}/ruff", "check", "--quiet", *sources],
        "format": [f"{BIN}/ruff", "format", "--quiet", "--check", *sources],
        "templates": [f"{BIN}/djade", "--check", "--target-version", "5.2", *templates],
        "imports": [f"{BIN}/lint-imports", "--no-cache"],
        "system checks": [*manage, "check", "--fail-level", "WARNING"],
        "migrations": [*manage, "makemigrations", "--check", "--dry-run"],
        "licences": [sys.executable, "tools/licences.py"],
    }


def passes(name: str, command: list[str]) -> bool:
    """Run one check and print how it ended; what it said, only where it failed."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="eqstudio-check-") as data:
        env = {**os.environ, "EQSTUDIO_DATA": data, "EQSTUDIO_ENV_FILE": os.devnull}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    passed = done.returncode == 0
    line = f"{'ok    ' if passed else 'FAILED'} {name} ({time.monotonic() - begun:.1f} s)"
    print(line if passed else f"{line}\n{done.stdout}{done.stderr}".rstrip(), flush=True)
    return passed


def main() -> int:
    wanted = checks()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = list(pool.map(passes, wanted, wanted.values()))
    failed = [name for name, good in zip(wanted, passed, strict=True) if not good]
    print(f"make check: {'all passed' if not failed else 'failed: ' + ', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
