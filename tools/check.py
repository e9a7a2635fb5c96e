"""`make check`: everything that can be said about the tree without running the suite. All checks run; one summary ends it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
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
        "lint": [f"{BIN}/ruff", "check", "--quiet", *sources],
        "format": [f"{BIN}/ruff", "format", "--quiet", "--check", *sources],
        "templates": [f"{BIN}/djade", "--check", "--target-version", "5.2", *templates],
        "imports": [f"{BIN}/lint-imports", "--no-cache"],
        "types": [f"{BIN}/mypy", "--no-error-summary"],
        "system checks": [*manage, "check", "--fail-level", "WARNING"],
        "migrations": [*manage, "makemigrations", "--check", "--dry-run"],
        "licences": [sys.executable, "tools/licences.py"],
    }


def main() -> int:
    failed = []
    with tempfile.TemporaryDirectory(prefix="eqstudio-check-") as data:
        env = {**os.environ, "EQSTUDIO_DATA": data, "EQSTUDIO_ENV_FILE": os.devnull}
        for name, command in checks().items():
            begun = time.monotonic()
            done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
            passed = done.returncode == 0
            print(f"{'ok    ' if passed else 'FAILED'} {name} ({time.monotonic() - begun:.1f} s)", flush=True)
            if not passed:
                failed.append(name)
                print(f"{done.stdout}{done.stderr}".rstrip(), flush=True)
    print(f"make check: {'all passed' if not failed else 'failed: ' + ', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
