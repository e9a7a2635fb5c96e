"""Long fault tests, run by `make soak`: everything that can die, dies again and again while dialogues are being made."""

from __future__ import annotations

import os
import shutil
import signal
import time
from random import Random

import pytest

from tests.e2e.studio import studio_on, until

ASK = """
from eqstudio.benchmarks import benchmark_get, benchmarks
from generation.services import BriefInput, batch_create, corpus_create
fakes = dict(text_provider="fake", voice_provider="fake", transcriber="fake")
briefs = [
    BriefInput(alias, one.key, language=language, **fakes)
    for alias in benchmarks
    for one in benchmark_get(alias).categories[:5]
    for language in ("en", "zh")
]
batch_create(corpus=corpus_create(name="soak"), briefs=briefs)
"""
TOTAL, KILLS = 30, 10
VICTIMS = ("celery -A eqstudio worker", "redis-server", "gunicorn", "celery -A eqstudio beat")
MADE = "select count(*) from generation_dialogue where state in ('ready', 'flagged')"


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_everything_is_made_once_however_often_processes_are_killed(tmp_path, seed):
    rng = Random(seed)
    with studio_on(tmp_path) as studio:
        studio.start()
        studio.shell(ASK)
        for _kill in range(KILLS):
            time.sleep(rng.uniform(3, 8))
            victims = [pid for pid, line in studio.pids().items() if rng.choice(VICTIMS) in line]
            for pid in victims[:1]:
                os.kill(pid, signal.SIGKILL)
        assert until(lambda: studio.rows(MADE)[0][0] == TOTAL, 600), studio.rows(
            "select state, count(*) from generation_dialogue group by state"
        )
        assert studio.rows("select count(*) from generation_variant where clip_id is null") == [(0,)]
        twice = (
            "select 1 from generation_providercall where outcome = 'ok' group by kind, request_hash having count(*) > 1"
        )
        assert studio.rows(twice) == []
    assert until(lambda: studio.pids() == {}, 10), studio.pids()


@pytest.mark.soak
def test_a_broker_that_loses_everything_loses_nothing(tmp_path):
    with studio_on(tmp_path) as studio:
        studio.start()
        studio.shell(ASK)
        assert until(lambda: studio.rows(MADE)[0][0] > 0, 120)
        shutil.rmtree(studio.data / "broker")
        for pid in [pid for pid, line in studio.pids().items() if "redis-server" in line]:
            os.kill(pid, signal.SIGKILL)
        assert until(lambda: studio.rows(MADE)[0][0] == TOTAL, 600), studio.errors()
        assert studio.rows("select count(*) from generation_variant where clip_id is null") == [(0,)]
