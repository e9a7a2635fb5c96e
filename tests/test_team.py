"""A team's studio: PostgreSQL, Redis and a real worker that is killed in the middle of its work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

ROOT = Path(__file__).resolve().parent.parent
TOTAL = 6
ASK = """
from eqstudio.benchmarks import benchmark_get
from generation.services import BriefInput, batch_create, corpus_create
keys = [one.key for one in benchmark_get("speecheq").categories[:6]]
briefs = [BriefInput("speecheq", key, text_provider="fake", voice_provider="fake", transcriber="fake") for key in keys]
batch_create(corpus=corpus_create(name="team"), briefs=briefs)
"""

pytestmark = pytest.mark.postgres


class Team:
    """Processes of one studio on a database and a key prefix of their own."""

    def __init__(self, database: str, folder: Path) -> None:
        self.database = database
        self.log = folder / "worker.log"
        self.env = {name: value for name, value in os.environ.items() if not name.startswith(("EQSTUDIO_", "DJANGO_"))}
        self.env |= {
            "DATABASE_URL": database,
            "EQSTUDIO_BROKER_PREFIX": uuid4().hex,
            "EQSTUDIO_DATA": str(folder),
            "EQSTUDIO_ENV_FILE": os.devnull,
            "EQSTUDIO_SWEEP_SECONDS": "2",
        }
        self.worker: subprocess.Popen[bytes] | None = None

    def manage(self, *arguments: str) -> None:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def work(self) -> None:
        options = ["-B", "--schedule", str(self.log.with_name("beat")), "--queues", "io,cpu", "--concurrency", "2"]
        with self.log.open("ab") as log:
            self.worker = subprocess.Popen(
                [sys.executable, "-m", "celery", "-A", "eqstudio", "worker", *options],
                cwd=ROOT,
                env=self.env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self) -> None:
        if self.worker is not None:
            os.killpg(self.worker.pid, signal.SIGKILL)
            self.worker.wait()
            self.worker = None

    def count(self, query: str) -> int:
        with psycopg.connect(self.database) as connection:
            return connection.execute(query).fetchone()[0]

    def wait(self, query: str, wanted: int, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (found := self.count(query)) < wanted:
            assert time.monotonic() < deadline, (found, self.log.read_text()[-2000:])
            time.sleep(0.1)


@pytest.fixture
def team(tmp_path) -> Iterator[Team]:
    server = os.environ.get("DATABASE_URL", "")
    if not server.startswith("postgres") or not os.environ.get("REDIS_URL"):
        pytest.skip("needs DATABASE_URL with PostgreSQL and REDIS_URL: `make test` brings both")
    name = f"team_{uuid4().hex[:12]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    made = Team(f"{server.rpartition('/')[0]}/{name}", tmp_path)
    yield made
    made.kill()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


def test_killed_worker_of_a_team_finishes_with_every_clip_once(team):
    team.manage("migrate", "--verbosity", "0")
    team.work()
    team.manage("shell", "--verbosity", "0", "-c", ASK)
    team.wait("select count(*) from generation_clip", 5, 120)
    team.kill()
    ready = "select count(*) from generation_dialogue where state in ('ready', 'flagged')"
    assert team.count(ready) < TOTAL
    team.work()
    team.wait(ready, TOTAL, 240)
    assert team.count("select count(*) from generation_variant where clip_id is null") == 0
    twice = "select count(*) from (select 1 from generation_providercall where outcome = 'ok' group by kind, request_hash having count(*) > 1) t"
    assert team.count(twice) == 0
