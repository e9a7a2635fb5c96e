"""A program that is talked to by JSON lines: started without a shell, in its own environment, ended with all its children."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from eqstudio.errors import GiveUp, ProviderError, Retry
from eqstudio.net import redact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
"""What every program may see of the studio's environment; keys are not among it."""
KEPT_LINES = 40
LINE_MAX = 64 * 1024 * 1024
GRACE_S = 5.0


class Program:
    """One running program. ``ask`` sends a line and waits for the line with the same id; what is no JSON object is a log."""

    def __init__(self, command: Sequence[str], *, folder: Path, env: Sequence[str]) -> None:
        seen = {name: os.environ[name] for name in (*PASSED, *env) if name in os.environ}
        self._said: deque[str] = deque(maxlen=KEPT_LINES)
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        try:
            self._process = subprocess.Popen(
                list(command),
                cwd=folder,
                env={**seen, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ProviderError(
                f"The program {command[0]} cannot be started: {error.strerror}.", cause="client", decision=GiveUp()
            ) from error
        self._readers = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, line: dict[str, Any], *, timeout_s: float) -> dict[str, Any]:
        """Send one object and return the one with its ``id``. ProviderError when it ends or is silent too long; then it is
        killed, and the next question starts it anew.
        """
        deadline = time.monotonic() + timeout_s
        try:
            self._process.stdin.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
        except OSError as error:
            raise self._ended() from error
        while True:
            try:
                answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.end(grace_s=0)
                raise ProviderError(
                    f"The program gave no answer within {timeout_s:g} s and was ended.{self._told()}",
                    cause="timeout",
                    decision=Retry(1),
                ) from None
            if answer is None:
                raise self._ended()
            if answer.get("id") == line["id"]:
                return answer

    def end(self, *, grace_s: float = GRACE_S) -> None:
        """Close its input, wait, then kill it with all its children."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        if grace_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(grace_s)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for reader in self._readers:
            reader.join(GRACE_S)
        for pipe in (self._process.stdout, self._process.stderr):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _ended(self) -> ProviderError:
        self.end(grace_s=1)
        code = self._process.returncode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return ProviderError(f"The program {how}.{self._told()}", cause="program ended", decision=Retry(1))

    def _told(self) -> str:
        lines = [line for line in self._said if line.strip()]
        return f" Its last words: {redact(' | '.join(lines[-8:]))[-1500:]}" if lines else ""

    def _read_answers(self) -> None:
        for raw in iter(lambda: self._process.stdout.readline(LINE_MAX), b""):  # type: ignore[union-attr]
            try:
                found = json.loads(raw)
            except ValueError:
                found = None
            if isinstance(found, dict):
                self._answers.put(found)
            else:
                self._said.append(raw.decode("utf-8", "replace").rstrip()[:500])
        self._answers.put(None)

    def _read_log(self) -> None:
        for raw in iter(lambda: self._process.stderr.readline(64 * 1024), b""):  # type: ignore[union-attr]
            self._said.append(raw.decode("utf-8", "replace").rstrip()[:500])
