"""One process that keeps the studio's processes alive, and takes every one of them along when it goes.

Each child leads a process group of its own. A watcher process holds the other end of a pipe: when the supervisor is gone,
however it went, the watcher ends all groups that it was told of.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LONGEST_PAUSE_S = 30.0
STEADY_S = 60.0
"""A child that ran this long before it died starts again at once."""
LOG_LIMIT_BYTES = 10 * 1024 * 1024


@dataclass
class Child:
    """One process to keep alive. ``before_start`` runs ahead of every start; ``stop_signal`` asks it to end,
    ``stops_last`` only when the others are gone.
    """

    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    niceness: int = 0
    stop_signal: signal.Signals = signal.SIGTERM
    grace_s: float = 5.0
    stops_last: bool = False
    before_start: Callable[[], None] | None = None
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    deaths: int = 0
    start_after: float = 0.0


class Watcher:
    """A child in a session of its own that outlives a killed supervisor by just long enough to end its groups."""

    def __init__(self) -> None:
        read_end, self._write_end = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(Path(__file__).with_name("watcher.py")), str(read_end)],
            pass_fds=(read_end,),
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )
        os.close(read_end)

    def tell(self, sign: str, group: int) -> None:
        os.write(self._write_end, f"{sign}{group}\n".encode())

    def close(self) -> None:
        os.close(self._write_end)
        self._process.wait()


class Supervisor:
    """Starts children in order, restarts what dies with a growing pause."""

    def __init__(self, *, logs: Path, say: Callable[[str], None]) -> None:
        self._logs = logs
        self._say = say
        self._children: list[Child] = []
        self._stopping = False
        self._watcher = Watcher()
        logs.mkdir(parents=True, exist_ok=True)

    def start(self, child: Child) -> None:
        """Start ``child`` now and keep it alive from here on. OSError if its program cannot be started."""
        self._children.append(child)
        self._launch(child)

    def request_stop(self, *_signal: object) -> None:
        """Ask ``run`` to return; safe inside a signal handler."""
        self._stopping = True

    @property
    def stopping(self) -> bool:
        return self._stopping

    def run(self) -> None:
        """Keep the children alive until a stop is asked for."""
        while not self._stopping:
            self.tend(time.monotonic())
            time.sleep(0.2)

    def tend(self, now: float) -> None:
        """One look at every child: bury the dead, start those whose pause is over."""
        for child in self._children:
            if child.process is not None and child.process.poll() is not None:
                self._bury(child, now)
            if child.process is None and now >= child.start_after and not self._stopping:
                self._launch(child)

    def stop(self) -> None:
        """End every child within its grace, then by force; the ones that others lean on go last. Leaves no process behind."""
        self._stopping = True
        for last in (False, True):
            going = [child for child in self._children if child.stops_last is last and child.process is not None]
            for child in reversed(going):
                if child.process is not None and child.process.poll() is None:
                    child.process.send_signal(child.stop_signal)
            asked = time.monotonic()
            for child in reversed(going):
                self._end(child, asked + child.grace_s)
        self._watcher.close()

    def _launch(self, child: Child) -> None:
        if child.before_start is not None:
            child.before_start()
        with self._log(child.name) as log:
            child.process = subprocess.Popen(
                ["nice", "-n", str(child.niceness), *child.command] if child.niceness else child.command,
                env={**os.environ, **child.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=child.pass_fds,
                start_new_session=True,
            )
        child.started = time.monotonic()
        self._watcher.tell("+", child.process.pid)

    def _log(self, name: str) -> IO[bytes]:
        path = self._logs / f"{name}.log"
        if path.exists() and path.stat().st_size > LOG_LIMIT_BYTES:
            path.replace(path.with_suffix(".log.1"))
        return path.open("ab")

    def _bury(self, child: Child, now: float) -> None:
        process = child.process
        if process is None:
            return
        group_signal(process.pid, signal.SIGKILL)
        self._watcher.tell("-", process.pid)
        child.process = None
        child.deaths = 1 if now - child.started > STEADY_S else child.deaths + 1
        pause = 0.0 if child.deaths == 1 else min(2.0 ** (child.deaths - 2), LONGEST_PAUSE_S)
        child.start_after = now + pause
        self._say(
            f"{child.name} ended ({_how(process.returncode)}); it starts again in {pause:.0f} s. "
            f"What it said is in {self._logs / child.name}.log"
        )

    def _end(self, child: Child, deadline: float) -> None:
        process = child.process
        if process is None:
            return
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._say(
                f"{child.name} did not end in {child.grace_s:.0f} s and is stopped by force; unfinished steps run again."
            )
        group_signal(process.pid, signal.SIGKILL)
        process.wait()
        self._watcher.tell("-", process.pid)
        child.process = None


def group_signal(group: int, number: signal.Signals) -> bool:
    """Signal a whole process group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    return True


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
