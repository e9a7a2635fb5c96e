"""`manage.py studio` for real: it answers, survives kills, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.e2e.studio import ROOT, StudioProcess, studio_on, until

ASK = """
from eqstudio.benchmarks import benchmark_get
from generation.services import BriefInput, batch_create, corpus_create
categories = benchmark_get("speecheq").categories[:8]
briefs = [BriefInput("speecheq", one.key, text_provider="fake", voice_provider="fake", transcriber="fake") for one in categories]
batch_create(corpus=corpus_create(name="killed"), briefs=briefs)
"""
TOTAL = 8


@pytest.fixture
def studio(tmp_path):
    with studio_on(tmp_path) as started:
        yield started


@pytest.fixture
def new_studio(tmp_path):
    """In an empty folder, as the first start finds it."""
    with studio_on(tmp_path, migrated=False) as started:
        yield started


def health(studio: StudioProcess) -> int:
    connection = HTTPConnection("127.0.0.1", studio.port, timeout=10)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status
    finally:
        connection.close()


def command(studio: StudioProcess, *options: str) -> subprocess.CompletedProcess[str]:
    whole = [sys.executable, "manage.py", "studio", *options]
    return subprocess.run(whole, cwd=ROOT, env=studio.env, capture_output=True, text=True, check=False)


def made(studio: StudioProcess) -> int:
    return studio.rows("select count(*) from generation_dialogue where state in ('ready', 'flagged')")[0][0]


def clips(studio: StudioProcess) -> int:
    return studio.rows("select count(*) from generation_clip")[0][0]


def test_studio_answers_refuses_a_second_start_and_ends_without_a_trace(new_studio):
    studio = new_studio
    said = studio.start()
    assert health(studio) == 200
    assert {"broker", "web", "worker", "beat"} <= {path.stem for path in (studio.data / "logs").iterdir()}
    second = command(studio, "--port", "0")
    assert second.returncode == 1
    assert f"It is process {studio.process.pid} and serves {said['address']}" in second.stderr
    assert health(studio) == 200
    seconds = studio.stop()
    assert until(lambda: studio.pids() == {}, 20), studio.pids()
    assert seconds < 30


def test_taken_port_says_what_to_do(new_studio):
    studio = new_studio
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", studio.port))
        taken.listen()
        done = command(studio, "--port", str(studio.port))
    assert done.returncode == 1
    assert f"Port {studio.port} is taken by another program" in done.stderr
    assert not (studio.data / "studio.sqlite3").exists()


@pytest.mark.long
def test_killed_worker_finishes_with_every_clip_once(studio):
    studio.start()
    studio.shell(ASK)
    assert until(lambda: clips(studio) > 5, 120)
    killed = studio.pid_of("celery -A eqstudio worker --queues io")
    os.killpg(killed, signal.SIGKILL)
    assert made(studio) < TOTAL
    assert until(lambda: made(studio) == TOTAL, 180)
    assert studio.pid_of("celery -A eqstudio worker --queues io") != killed
    assert studio.rows("select count(*) from generation_variant where clip_id is null") == [(0,)]
    twice = "select request_hash from generation_providercall where outcome = 'ok' group by kind, request_hash having count(*) > 1"
    assert studio.rows(twice) == []
    assert "worker ended (signal SIGKILL)" in studio.errors()


@pytest.mark.long
def test_killed_studio_takes_its_processes_along_and_goes_on_at_the_next_start(studio):
    studio.start()
    studio.shell(ASK)
    assert until(lambda: clips(studio) > 2, 120)
    studio.stop(signal.SIGKILL)
    assert until(lambda: studio.pids() == {}, 20), studio.pids()
    begun = time.monotonic()
    studio.start()
    seconds = time.monotonic() - begun
    assert health(studio) == 200
    assert until(lambda: made(studio) == TOTAL, 180)
    assert studio.rows("select count(*) from generation_dialogue") == [(TOTAL,)]
    assert seconds < 60


def test_studio_refuses_the_demo_in_production(tmp_path):
    env = {**os.environ, "EQSTUDIO_PRODUCTION": "1", "SECRET_KEY": "x" * 50, "REDIS_URL": "redis://127.0.0.1:1/0"}
    env |= {"EQSTUDIO_DATA": str(tmp_path), "DJANGO_SETTINGS_MODULE": "eqstudio.settings"}
    whole = [sys.executable, "manage.py", "studio", "--demo", "--skip-checks"]
    done = subprocess.run(whole, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "The demo is refused in production" in done.stderr
    assert list(Path(tmp_path).glob("*.sqlite3")) == []
