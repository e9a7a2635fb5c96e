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
from typing import Any, NamedTuple

import psycopg
import pytest

from tools.test import free_port, postgres, postgres_folder

ROOT = Path(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("BENCH_SECONDS", "15"))
MOST_CPU_MS, LEAST_LOOPS, MOST_RSS_MB = 12.0, 80.0, 250.0
MOST_GROWTH = 1.25
"""A loop of a large round may take so many times the processor of one of a small round, web and database together."""
TICKS = os.sysconf("SC_CLK_TCK")
ITEMS = [int(count) for count in os.environ.get("BENCH_ITEMS", "2000,100000").split(",")]


class Studio(NamedTuple):
    """A studio with a round: its database, its environment, and who may judge."""

    url: str
    env: dict[str, str]
    seed: dict[str, Any]


@pytest.fixture(scope="module")
def cluster():
    binaries = postgres_folder()
    if binaries is None:
        pytest.fail("these figures are taken on PostgreSQL: install it")
    with postgres(binaries) as url:
        yield url


@pytest.fixture(scope="module")
def studios(cluster, tmp_path_factory):
    """A studio of a kind that nobody has judged in yet: so many items, with or without rules for its judges, fifty people.

    Each is seeded once and then copied, and the copy before goes, so that no test finds what another one left.
    """
    seeded: dict[tuple[int, bool], Studio] = {}
    copies: list[str] = []

    def studio(items: int, *, rules: bool = False) -> Studio:
        if (items, rules) not in seeded:
            seeded[items, rules] = _studio(cluster, tmp_path_factory.mktemp("data"), items, rules=rules)
        pristine = seeded[items, rules]
        with psycopg.connect(cluster, autocommit=True) as link:
            for name in copies[-1:]:
                link.execute(f"DROP DATABASE {name} WITH (FORCE)")
            copies.append(f"bench_copy_{len(copies)}")
            link.execute(f"CREATE DATABASE {copies[-1]} TEMPLATE {pristine.url.rpartition('/')[2]}")
        url = f"{cluster.rpartition('/')[0]}/{copies[-1]}"
        return pristine._replace(url=url, env={**pristine.env, "DATABASE_URL": url})

    return studio


def _studio(cluster: str, data: Path, items: int, *, rules: bool) -> Studio:
    name = f"bench_{items}_{int(rules)}"
    with psycopg.connect(cluster, autocommit=True) as link:
        link.execute(f"CREATE DATABASE {name}")
    url = f"{cluster.rpartition('/')[0]}/{name}"
    env = {name: value for name, value in os.environ.items() if not name.startswith("EQSTUDIO_")}
    env |= {
        "DATABASE_URL": url,
        "EQSTUDIO_DATA": str(data),
        "EQSTUDIO_ENV_FILE": os.devnull,
        "DJANGO_SETTINGS_MODULE": "eqstudio.settings",
        "EQSTUDIO_LOG_LEVEL": "WARNING",
    }
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v0", "--skip-checks"], cwd=ROOT, env=env, check=True)
    subprocess.run([*manage, "collectstatic", "-v0", "--noinput"], cwd=ROOT, env=env, check=True)
    seed = [sys.executable, "-m", "tests.benchmarks.listening_seed", "50", str(items), *["rules"] * rules]
    made = subprocess.run(seed, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE)
    return Studio(url, env, json.loads(made.stdout))


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
        rows = link.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()").fetchall()
        own = link.info.backend_pid
    return cpu_s([pid for (pid,) in rows if pid != own])


class Taken(NamedTuple):
    """What so many people at once took, a loop: milliseconds of the web's processor and of the database's."""

    loops: int
    seconds: float
    times: list[float]
    statuses: dict[str, int]
    web_ms: float
    database_ms: float
    rss: float

    def told(self, what: str) -> str:
        middle, late = (self.times[int(share * len(self.times))] for share in (0.5, 0.95))
        return (
            f"\n{what}: {self.loops / self.seconds:.1f} loops/s, p50 {middle:.0f} ms, p95 {late:.0f} ms, {self.web_ms:.1f} ms of"
            f" the web's processor a loop and {self.database_ms:.1f} ms of the database's, {self.rss:.0f} MB a worker,"
            f" answers {self.statuses}\n"
        )


def measured(studio: Studio, kind: str, people: int, seconds: float = SECONDS) -> Taken:
    """Two seconds to get warm, then the figures."""
    chosen = json.dumps({**studio.seed, "people": studio.seed["people"][:people]})
    with served(studio.env) as (port, leader):
        load = [sys.executable, "-m", "tests.benchmarks.listening_load", str(port)]

        def run(for_seconds: float) -> dict[str, Any]:
            command = [*load, str(for_seconds), kind]
            done = subprocess.run(command, input=chosen, text=True, cwd=ROOT, check=True, stdout=subprocess.PIPE)
            return json.loads(done.stdout)

        run(2)
        pids = workers(leader)
        before, base = cpu_s(pids), database_cpu_s(studio.url)
        found = run(seconds)
        loops = max(1, found["loops"])
        return Taken(
            **found,
            web_ms=1000 * (cpu_s(pids) - before) / loops,
            database_ms=1000 * (database_cpu_s(studio.url) - base) / loops,
            rss=max(rss_mb(pid) for pid in pids),
        )


def sound(taken: Taken, studio: Studio) -> None:
    """Nothing failed, nobody got more than was asked for, and no worker grew."""
    assert set(taken.statuses) == {"200"}
    assert over_assigned(studio.url) == 0
    assert taken.rss < MOST_RSS_MB


@pytest.mark.parametrize("items", ITEMS)
@pytest.mark.parametrize("people", [20, 50])
@pytest.mark.parametrize("kind", ["page", "api"])
def test_many_people_at_once(studios, kind, people, items, capsys):
    studio = studios(items)
    taken = measured(studio, kind, people)
    with capsys.disabled():
        sys.stdout.write(taken.told(f"{kind}, {people} people, {items:,} items"))
    sound(taken, studio)
    if os.environ.get("BENCH_QUIET_MACHINE"):
        assert taken.web_ms < MOST_CPU_MS
        assert people != 20 or taken.loops / taken.seconds >= LEAST_LOOPS


def test_known_answers_and_repetitions_cost_little(studios, capsys):
    """A round that watches its judges as a new one is advised to."""
    studio = studios(ITEMS[0], rules=True)
    taken = measured(studio, "page", 20)
    with capsys.disabled():
        sys.stdout.write(taken.told(f"page, 20 people, {ITEMS[0]:,} items, rules for judges"))
    sound(taken, studio)


def test_a_loop_costs_the_same_in_a_large_round(studios, capsys):
    """By turns, so that whatever else the machine does falls on both."""
    turns = [(items, measured(studios(items), "page", 20, SECONDS / 2)) for items in ITEMS * 2]
    costs = {}
    for items in ITEMS:
        of = [taken for size, taken in turns if size == items]
        loops = sum(taken.loops for taken in of)
        costs[items] = sum((taken.web_ms + taken.database_ms) * taken.loops for taken in of) / loops
    growth = costs[ITEMS[-1]] / costs[ITEMS[0]]
    with capsys.disabled():
        told = ", ".join(f"{cost:.1f} ms at {items:,} items" for items, cost in costs.items())
        sys.stdout.write(f"\na loop takes {told} of processor, web and database: {growth:.2f} times\n")
    assert growth < MOST_GROWTH


def over_assigned(url: str) -> int:
    """Items that more people hold or have judged than were asked for, or whose count is not true."""
    with psycopg.connect(url) as link:
        row = link.execute(
            """SELECT count(*) FROM annotation_rounditem i JOIN (SELECT item_id, count(*) AS n FROM annotation_assignment
               WHERE kind = 'work' AND state IN ('active', 'submitted') GROUP BY item_id) a ON a.item_id = i.id
               WHERE a.n > i.wanted OR a.n <> i.held"""
        ).fetchone()
    return row[0]
