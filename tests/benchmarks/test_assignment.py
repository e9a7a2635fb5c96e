"""Many people at once over HTTP: PostgreSQL, two gunicorn workers, next and submit with what was heard."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tools.test import free_port, postgres, postgres_folder

ROOT = Path(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("BENCH_SECONDS", "15"))
MOST_CPU_MS, LEAST_LOOPS, MOST_RSS_MB = 12.0, 80.0, 250.0
TICKS = os.sysconf("SC_CLK_TCK")
ITEMS = [2_000, 100_000]


@pytest.fixture(scope="module", params=ITEMS)
def studio(request, tmp_path_factory):
    """A studio on a private PostgreSQL with a round of so many items and fifty people."""
    binaries = postgres_folder()
    if binaries is None:
        pytest.fail("these figures are taken on PostgreSQL: install it")
    with postgres(binaries) as url:
        env = {name: value for name, value in os.environ.items() if not name.startswith("EQSTUDIO_")}
        env |= {
            "DATABASE_URL": url,
            "EQSTUDIO_DATA": str(tmp_path_factory.mktemp("data")),
            "EQSTUDIO_ENV_FILE": os.devnull,
            "DJANGO_SETTINGS_MODULE": "eqstudio.settings",
            "EQSTUDIO_LOG_LEVEL": "WARNING",
        }
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "migrate", "-v0", "--skip-checks"], cwd=ROOT, env=env, check=True)
        subprocess.run([*manage, "collectstatic", "-v0", "--noinput"], cwd=ROOT, env=env, check=True)
        seed = [sys.executable, "-m", "tests.benchmarks.listening_seed", "50", str(request.param)]
        made = subprocess.run(seed, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE)
        yield request.param, url, env, json.loads(made.stdout)


@contextmanager
def served(env: dict[str, str]) -> Iterator[tuple[int, int]]:
    """Two workers on a free port: the port and the process that leads them."""
    port = free_port()
    options = ["--workers", "2", "--threads", "4", "--preload", "--no-control-socket", "--log-level", "error"]
    command = [sys.executable, "-m", "gunicorn", *options, "--bind", f"127.0.0.1:{port}", "eqstudio.wsgi"]
    with subprocess.Popen(command, cwd=ROOT, env=env) as process:
        try:
            _wait(port)
            yield port, process.pid
        finally:
            process.terminate()


def _wait(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the studio did not start")


def workers(leader: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{leader}/task/{leader}/children").read_text().split()]


def cpu_s(pids: list[int]) -> float:
    """Processor seconds that these processes have used, user and system."""
    fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(each[11]) + int(each[12]) for each in fields) / TICKS


def rss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def database_cpu_s(url: str) -> float:
    with psycopg.connect(url) as link:
        rows = link.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'").fetchall()
        own = link.info.backend_pid
    return cpu_s([pid for (pid,) in rows if pid != own])


@pytest.mark.parametrize("people", [20, 50])
@pytest.mark.parametrize("kind", ["page", "api"])
def test_many_people_at_once(studio, kind, people, capsys):
    items, url, env, seed = studio
    chosen = json.dumps({**seed, "people": seed["people"][:people]})
    with served(env) as (port, leader):
        load = [sys.executable, "-m", "tests.benchmarks.listening_load", str(port)]
        subprocess.run([*load, "2", kind], input=chosen, text=True, cwd=ROOT, check=True, stdout=subprocess.PIPE)
        pids = workers(leader)
        before, base = cpu_s(pids), database_cpu_s(url)
        done = subprocess.run(
            [*load, str(SECONDS), kind], input=chosen, text=True, cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        found = json.loads(done.stdout)
        cpu_ms = 1000 * (cpu_s(pids) - before) / max(1, found["loops"])
        database_ms = 1000 * (database_cpu_s(url) - base) / max(1, found["loops"])
        rss = max(rss_mb(pid) for pid in pids)
    rate = found["loops"] / found["seconds"]
    times = found["times"]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{kind}, {people} people, {items:,} items: {rate:.1f} loops/s, p50 {times[len(times) // 2]:.0f} ms, "
            f"p95 {times[int(0.95 * len(times))]:.0f} ms, {cpu_ms:.1f} ms of the web's processor a loop and "
            f"{database_ms:.1f} ms of the database's, {rss:.0f} MB a worker, answers {found['statuses']}\n"
        )
    assert set(found["statuses"]) == {"200"}
    assert over_assigned(url) == 0
    assert rss < MOST_RSS_MB
    if os.environ.get("BENCH_QUIET_MACHINE"):
        assert cpu_ms < MOST_CPU_MS
        assert people != 20 or rate >= LEAST_LOOPS


def over_assigned(url: str) -> int:
    """Items that more people hold or have judged than were asked for, or whose count is not true."""
    with psycopg.connect(url) as link:
        row = link.execute(
            """SELECT count(*) FROM annotation_rounditem i JOIN (SELECT item_id, count(*) AS n FROM annotation_assignment
               WHERE kind = 'work' AND state IN ('active', 'submitted') GROUP BY item_id) a ON a.item_id = i.id
               WHERE a.n > i.wanted OR a.n <> i.held"""
        ).fetchone()
    return row[0]
