"""The supervisor with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from eqstudio.supervisor import Child, Supervisor, group_signal
from eqstudio.watcher import groups_left

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    ),
]
KILLED_SUPERVISOR = """
import sys, time
from pathlib import Path
from eqstudio.supervisor import Child, Supervisor
supervisor = Supervisor(logs=Path(sys.argv[1]), say=lambda text: None)
child = Child(name="child", command=[sys.executable, "-c", "import time; time.sleep(60)"])
supervisor.start(child)
print(child.process.pid, flush=True)
supervisor.run()
"""


def until(condition: Callable[[], object], seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path, said):
    made = Supervisor(logs=tmp_path, say=said.append)
    yield made
    made.stop()


def test_child_that_dies_starts_again_and_says_so(supervisor, said, tmp_path):
    child = Child(name="worker", command=SLEEP)
    supervisor.start(child)
    first = child.process.pid
    os.kill(first, signal.SIGKILL)
    child.process.wait()
    now = time.monotonic()
    supervisor.tend(now)
    assert child.process.pid != first
    assert said == [f"worker ended (signal SIGKILL); it starts again in 0 s. What it said is in {tmp_path}/worker.log"]


def test_child_that_keeps_dying_waits_longer_each_time(supervisor):
    child = Child(name="broken", command=[sys.executable, "-c", "raise SystemExit(3)"])
    supervisor.start(child)
    pauses = []
    now = time.monotonic()
    for _death in range(7):
        child.process.wait()
        supervisor.tend(now)
        pauses.append(child.start_after - now)
        now = child.start_after
        supervisor.tend(now)
    assert pauses == pytest.approx([0, 1, 2, 4, 8, 16, 30])


def test_child_group_is_ended_before_it_starts_again(supervisor, tmp_path):
    child = Child(name="worker", command=STUBBORN)
    supervisor.start(child)
    log = tmp_path / "worker.log"
    assert until(lambda: log.exists() and log.read_text().strip())
    grandchild = int(log.read_text())
    os.kill(child.process.pid, signal.SIGKILL)
    child.process.wait()
    supervisor.tend(time.monotonic())
    assert until(lambda: not alive(grandchild))


def test_stop_ends_a_stubborn_child_by_force(said, tmp_path):
    supervisor = Supervisor(logs=tmp_path, say=said.append)
    child = Child(name="worker", command=STUBBORN, grace_s=0.5)
    supervisor.start(child)
    log = tmp_path / "worker.log"
    assert until(lambda: log.exists() and log.read_text().strip())
    group = child.process.pid
    begun = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - begun < 20
    assert until(lambda: not group_signal(group, 0))
    assert said == ["worker did not end in 0 s and is stopped by force; unfinished steps run again."]


def test_run_returns_after_a_request_to_stop(supervisor):
    supervisor.request_stop()
    supervisor.run()
    assert supervisor.stopping


def test_log_that_grew_large_is_put_aside(supervisor, tmp_path, monkeypatch):
    monkeypatch.setattr("eqstudio.supervisor.LOG_LIMIT_BYTES", 10)
    (tmp_path / "web.log").write_text("x" * 11)
    supervisor.start(Child(name="web", command=SLEEP))
    assert (tmp_path / "web.log.1").read_text() == "x" * 11


def test_killed_supervisor_leaves_no_child(tmp_path):
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED_SUPERVISOR, str(tmp_path)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    child = int(killed.stdout.readline())
    assert alive(child)
    killed.kill()
    killed.wait()
    killed.stdout.close()
    assert until(lambda: not alive(child))


def test_watcher_ends_only_groups_that_were_not_taken_off():
    assert groups_left(["+11\n", "+12\n", "-11\n", "+13\n"]) == {12, 13}
