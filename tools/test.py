"""`make test`: the checks, then every suite, each with the servers it needs, and one closing line for all of them.

What is missing is installed with apt-get where this runs as root. What cannot be had is named; under CI=true that fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from eqstudio.broker import broker_program  # noqa: E402

os.environ.pop("DJANGO_SETTINGS_MODULE", None)  # the import above names the studio's own; the suite has its own, too
os.environ.pop(
    "PYTHONDONTWRITEBYTECODE", None
)  # else each of many processes would compile the studio and its tests anew
PYTEST = [sys.executable, "-m", "pytest", "-q"]
SUITE_LIMIT_S = 1800
CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")


@dataclass
class Tally:
    """What the suites so far came to."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    left_out: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def say(text: str) -> None:
    print(text, flush=True)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Packages:
    """Debian packages, installed on demand; the lists are fetched once."""

    def __init__(self) -> None:
        self._fetched = False

    def ensure(self, package: str) -> bool:
        """Install ``package`` if this is root on a machine with apt-get; False if it cannot be had."""
        if os.getuid() != 0 or not shutil.which("apt-get"):
            return False
        say(f"Installing {package} ...")
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        if not self._fetched:
            subprocess.run(["apt-get", "update", "-qq"], env=env, check=False, stdin=subprocess.DEVNULL)
            self._fetched = True
        command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
        return (
            subprocess.run(
                command, env=env, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            ).returncode
            == 0
        )


def postgres_folder() -> Path | None:
    """Where initdb and pg_ctl live: on PATH, or where Debian keeps them."""
    on_path = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parent.parent.name))
    return found[-1].parent if found else (Path(on_path).parent if on_path else None)


@contextmanager
def postgres(binaries: Path) -> Iterator[str]:
    """A private cluster on a free port, gone afterwards. PostgreSQL refuses to run as root, so then it runs as ``postgres``."""
    prefix = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    port = free_port()
    folder = Path(tempfile.mkdtemp(prefix="eqstudio-pg-"))
    if prefix:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c full_page_writes=off -c synchronous_commit=off"

    def act(program: str, *arguments: str) -> None:
        command = [*prefix, str(binaries / program), "-D", str(data), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd="/")

    try:
        act("initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8")
        act("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
        try:
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            act("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def redis(program: str) -> Iterator[str]:
    """A Redis-compatible server on a free port of this machine, gone afterwards."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="eqstudio-redis-") as folder:
        command = [
            program,
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--dir",
            folder,
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.terminate()
            server.wait(10)


def suite(tally: Tally, name: str, marks: str, *, env: dict[str, str] | None = None, options: list[str]) -> None:
    """Run one suite and add what came of it to the tally."""
    say(f"\n== {name} ==")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="eqstudio-suite-") as folder:
        report = Path(folder) / "report.xml"
        command = [*PYTEST, "-m", marks, f"--junitxml={report}", *options]
        try:
            code = subprocess.run(
                command, cwd=ROOT, env={**os.environ, **(env or {})}, timeout=SUITE_LIMIT_S, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            code = 124
        counts = _counts(report)
    if code not in (0, 1):
        counts["failed"] += 1
    tally.passed += counts["passed"]
    tally.failed += counts["failed"]
    tally.skipped += counts["skipped"]
    seconds = time.monotonic() - begun
    tally.lines.append(
        f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped in {seconds:.0f} s"
        + (f" (pytest ended with code {code})" if code not in (0, 1) else "")
    )


def _counts(report: Path) -> dict[str, int]:
    if not report.exists():
        return {"passed": 0, "failed": 0, "skipped": 0}
    suites = list(ET.parse(report).getroot().iter("testsuite"))  # noqa: S314 -- written by our own pytest
    total, skipped, failed = (
        sum(int(entry.get(key, "0")) for entry in suites for key in keys)
        for keys in (("tests",), ("skipped",), ("failures", "errors"))
    )
    return {"passed": total - skipped - failed, "failed": failed, "skipped": skipped}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["check", "sqlite", "postgres", "browser"], action="append")
    parser.add_argument("pytest", nargs="*", help="more arguments for pytest, after --")
    arguments = parser.parse_args()
    wanted = arguments.only or ["check", "sqlite", "postgres", "browser"]
    tally, packages, begun = Tally(), Packages(), time.monotonic()
    with ExitStack() as background:
        team = _team_servers(tally, packages, background) if "postgres" in wanted else None
        if {"sqlite", "browser"} & set(wanted):
            _database_begin(background, {})
        if team is not None:
            _database_begin(background, team)
        _run(tally, packages, wanted, team, arguments.pytest)
    return _close(tally, time.monotonic() - begun)


def _database_begin(background: ExitStack, env: dict[str, str]) -> None:
    """Have a migrated database made during the checks; the suites take copies of it and wait where it is not there yet."""
    command = [sys.executable, "-m", "tests.databases"]
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", **env}
    background.enter_context(subprocess.Popen(command, cwd=ROOT, env=env))


def _run(
    tally: Tally, packages: Packages, wanted: list[str], team: dict[str, str] | None, arguments: list[str]
) -> None:
    options = ["-n", "2", *arguments]
    if "check" in wanted:
        say("== checks ==")
        begun_check = time.monotonic()
        passed = subprocess.run([sys.executable, "tools/check.py"], cwd=ROOT, check=False).returncode == 0
        tally.lines.append(f"checks: {'passed' if passed else 'failed'} in {time.monotonic() - begun_check:.0f} s")
        tally.failed += not passed
    if "sqlite" in wanted:
        suite(
            tally,
            "SQLite",
            "not e2e and not local and not soak and not models and not vllm and not postgres",
            options=options,
        )
    if team is not None:
        marks = "not e2e and not local and not soak and not models and not vllm"
        suite(tally, "PostgreSQL and Redis", marks, env=team, options=[*options, "--only-database"])
    if "browser" in wanted:
        _browser_suite(tally, packages, [*options, *([] if arguments else ["tests/e2e", *_files_of("local")])])


def _team_servers(tally: Tally, packages: Packages, servers: ExitStack) -> dict[str, str] | None:
    """Start what a team's studio runs on; the environment that names it, or None where it cannot be had."""
    if postgres_folder() is None:
        packages.ensure("postgresql")
    if broker_program() is None:
        packages.ensure("redis-server")
    binaries, program = postgres_folder(), broker_program()
    if binaries is None or program is None:
        tally.left_out.append("PostgreSQL and Redis (install the packages postgresql and redis-server)")
        return None
    return {
        "DATABASE_URL": servers.enter_context(postgres(binaries)),
        "REDIS_URL": servers.enter_context(redis(program)),
    }


def _browser_suite(tally: Tally, packages: Packages, options: list[str]) -> None:
    names = ("chromium", "chromium-browser", "google-chrome")
    if not any(map(shutil.which, names)):
        packages.ensure("chromium")
    if any(map(shutil.which, names)):
        suite(
            tally,
            "Chromium and the embedded models",
            "(e2e or local) and not soak",
            options=[*options, "--dist", "loadgroup"],
        )
    else:
        tally.left_out.append("Chromium (install the package chromium)")
        suite(tally, "The embedded models", "local and not e2e and not soak", options=options)


def _files_of(mark: str) -> list[str]:
    """The files whose text names the mark: to import all the others for a few tests takes a third of a minute."""
    files = (ROOT / "tests").rglob("test_*.py")
    return sorted(str(file.relative_to(ROOT)) for file in files if f"pytest.mark.{mark}" in file.read_text("utf-8"))


def _close(tally: Tally, seconds: float) -> int:
    say("\n== all ==")
    for line in tally.lines:
        say(line)
    for name in tally.left_out:
        say(f"LEFT OUT: {name}")
    if tally.left_out and CI:
        say("CI=true: a suite that was left out is a failure.")
        tally.failed += len(tally.left_out)
    say(f"in {seconds / 60:.1f} minutes")
    say(f"total: {tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    raise SystemExit(main())
