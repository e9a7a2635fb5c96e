"""A whole studio in processes of its own: a data folder, a port, and its log."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.databases import sqlite_copy

ROOT = Path(__file__).resolve().parents[2]
START_S = 120


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def until(condition: Callable[[], object], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.1)
    return False


class StudioProcess:
    """``manage.py studio`` on ``data``. Nothing of this process' own settings or broker leaks into it."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.port = free_port()
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("EQSTUDIO_", "DJANGO_")) and name not in ("DATABASE_URL", "REDIS_URL")
        }
        self.env |= {"EQSTUDIO_DATA": str(data), "EQSTUDIO_ENV_FILE": os.devnull, "EQSTUDIO_SWEEP_SECONDS": "2"}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> dict:
        """Start it and return what it says once it answers."""
        command = [sys.executable, "manage.py", "studio", "--port", str(self.port), "--json", *options]
        with (self.data / "out").open("wb") as out, (self.data / "err").open("ab") as err:
            self.process = subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=out, stderr=err)
        assert until(lambda: (self.data / "out").read_bytes().strip() or self.process.poll() is not None, START_S)
        said = (self.data / "out").read_text()
        assert said, self.errors()
        return json.loads(said)

    def errors(self) -> str:
        return (self.data / "err").read_text()

    def shell(self, code: str) -> None:
        """Run Python in the studio's environment, beside it."""
        command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", code]
        done = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def rows(self, query: str) -> list[tuple]:
        connection = sqlite3.connect(self.data / "studio.sqlite3", timeout=20)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def pids(self) -> dict[int, str]:
        """Every living process that works on this data folder, with its command line."""
        found = {}
        marker = f"EQSTUDIO_DATA={self.data}".encode()
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                inside = marker in (folder / "environ").read_bytes().split(b"\0")
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if inside and line:
                found[int(folder.name)] = line
        return found

    def pid_of(self, words: str) -> int:
        """The oldest process whose command line holds ``words``."""
        return min(pid for pid, line in self.pids().items() if words in line)

    def stop(self, number: signal.Signals = signal.SIGINT) -> float:
        """End it as Ctrl-C does; the seconds that took."""
        begun = time.monotonic()
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(60)
            self.process = None
        return time.monotonic() - begun


@contextmanager
def studio_on(data: Path, *, migrated: bool = True) -> Iterator[StudioProcess]:
    """A studio that is ended with the block; its database is there already, unless its making is what the test is about."""
    if migrated:
        sqlite_copy(data / "studio.sqlite3")
    studio = StudioProcess(data)
    try:
        yield studio
    finally:
        if studio.process is not None and studio.process.poll() is None:
            studio.stop()
