"""An exam that two workers share while workers and the server they ask are killed at random moments."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.databases import sqlite_copy
from tests.e2e.studio import free_port, until

ROOT = Path(__file__).resolve().parents[2]
WORKERS, CONCURRENCY, LATENCY_S = 2, 8, 0.05
QUESTIONS_EACH = 2
PREPARE = """
import sys, django
django.setup()
from tests.benchmarks.exam_seed import exam_seed
exam_seed(int(sys.argv[1]), audio=False)
"""
RUN = [
    *("study_run", "exam", "--model", "openai", "--evaluator", "text", "--runs", "1"),
    *("--concurrency", str(CONCURRENCY), "--json", "--skip-checks"),
]


class Exam:
    """The processes of one exam, and what the server wrote down about who asked what."""

    def __init__(self, folder: Path, items: int) -> None:
        self.folder, self.port = folder, free_port()
        self.count_file = folder / "asked"
        self.count_file.touch()
        kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
        self.env = kept | {
            "EQSTUDIO_DATA": str(folder),
            "EQSTUDIO_ENV_FILE": os.devnull,
            "EQSTUDIO_EXAM_MODEL": "test-model",
            "EQSTUDIO_EXAM_KEY_ENV": "",
            "EQSTUDIO_EXAM_BASE_URL": f"http://127.0.0.1:{self.port}/v1",
            "DJANGO_SETTINGS_MODULE": "eqstudio.settings",
        }
        sqlite_copy(folder / "studio.sqlite3")
        subprocess.run([sys.executable, "-c", PREPARE, str(items)], cwd=ROOT, env=self.env, check=True)
        self.server = self._server()
        self.workers = [self._worker() for _number in range(WORKERS)]

    def _server(self) -> subprocess.Popen:
        command = [
            *(sys.executable, "-m", "tests.benchmarks.exam_server"),
            *(str(LATENCY_S), str(self.port), str(self.count_file)),
        ]
        return subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=subprocess.DEVNULL)

    def _worker(self) -> subprocess.Popen:
        command = [sys.executable, "manage.py", *RUN]
        return subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=subprocess.PIPE, text=True)

    def asked(self) -> Counter[str]:
        """How often each question came."""
        return Counter(self.count_file.read_text().split())

    def kill(self, victim: str, rng: Random) -> None:
        """SIGKILL one, and start another in its place."""
        if victim == "server":
            _end(self.server)
            self.server = self._server()
            return
        number = rng.randrange(WORKERS)
        _end(self.workers[number])
        self.workers[number] = self._worker()

    def close(self) -> None:
        for process in (self.server, *self.workers):
            _end(process)


def _end(process: subprocess.Popen) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


def exam_survives(folder: Path, *, items: int, victims: Sequence[str], seed: int, patience_s: float) -> None:
    """Kill ``victims`` while the exam runs, and hold the end against the law: every question answered once, and no call
    made twice but those that were under way at a kill.
    """
    rng, needed = Random(seed), items * QUESTIONS_EACH
    exam = Exam(folder, items)
    try:
        for number, victim in enumerate(victims, start=1):
            share = number / (len(victims) + 1)
            assert until(lambda share=share: len(exam.asked()) >= share * needed * 0.9, patience_s), (
                exam.asked().total()
            )
            time.sleep(rng.uniform(0.0, 0.2))
            exam.kill(victim, rng)
        for worker in exam.workers:
            said, _errors = worker.communicate(timeout=patience_s)
            sitting = json.loads(said)["sittings"][0]
            assert (sitting["state"], sitting["outcomes"]) == ("finished", {"answered": needed})
        asked = exam.asked()
    finally:
        exam.close()
    assert _answers(folder) == (needed, needed, 0)
    under_way = CONCURRENCY * sum(WORKERS if victim == "server" else 1 for victim in victims)
    assert len(asked) == needed
    assert asked.total() - needed <= under_way


def _answers(folder: Path) -> tuple[int, int, int]:
    """Answers, different questions they are to, and dialogues that still wait."""
    database = sqlite3.connect(folder / "studio.sqlite3")
    try:
        questions = "select distinct t.sitting_id, t.dialogue_id, t.key from evaluation_trialrecord t"
        return database.execute(
            f"select (select count(*) from evaluation_response where failure = ''), (select count(*) from ({questions})), "
            "(select count(*) from evaluation_runitem)"
        ).fetchone()
    finally:
        database.close()
