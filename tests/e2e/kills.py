"""A batch made by a whole studio whose processes are killed at random moments, and the endpoint that counts what was asked."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from threading import Lock
from urllib.error import URLError
from urllib.request import urlopen

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import BriefSpec
from tests.audio import speechlike, wav
from tests.e2e.studio import StudioProcess, until
from tests.openai_server import OpenAIServer, Recorded, Reply

CATEGORY = "interpersonal_empathy"
CALLS_EACH = 1 + 8 + 8
CONNECTIONS = 8
LATENCY_S = 0.1
VICTIMS = {
    "worker": "celery -A eqstudio worker --queues io",
    "web": "gunicorn",
    "broker": "redis-server",
    "beat": "celery -A eqstudio beat",
}
SOUND = wav(speechlike(seconds=0.8, rate=16_000), rate=16_000)
ASK = f"""
from generation.services import BriefInput, Budget, batch_create, budget_set, corpus_create
by = dict(text_provider="llamacpp", voice_provider="speech-server", transcriber="transcript-server")
brief = BriefInput("speecheq", "{CATEGORY}", count=%d, **by)
batch = batch_create(corpus=corpus_create(name="killed"), briefs=[brief])
budget_set(batch=batch, budget=Budget(calls=10**6))
"""
TWICE = "select request_hash from generation_providercall where outcome = 'ok' group by kind, request_hash having count(*) > 1"
DONE = "select count(*) from generation_dialogue where state in ('ready', 'flagged')"


class CountingEndpoint(OpenAIServer):
    """Writes, speaks and listens after a moment; ``paid`` is how many calls it began to answer."""

    def __init__(self) -> None:
        super().__init__()
        self.paid = 0
        self._count = Lock()
        self.writer = self.work

    def work(self, recorded: Recorded) -> Reply:
        with self._count:
            self.paid += 1
            number = self.paid
        self.requests.clear()
        if recorded.path.endswith("/audio/speech"):
            return Reply(payload=SOUND[:-4] + number.to_bytes(4, "little"), delay_s=LATENCY_S)
        if recorded.path.endswith("/audio/transcriptions"):
            return Reply(content="I hear you.", delay_s=LATENCY_S)
        benchmark = benchmark_get("speecheq")
        brief = BriefSpec(benchmark.category(CATEGORY), "en", benchmark.valences[0], benchmark.settings[0])
        script = benchmark.script_example(brief, Random(number))
        return Reply(content=json.dumps(script, ensure_ascii=False), delay_s=LATENCY_S)


def batch_survives(studio: StudioProcess, *, count: int, victims: Sequence[str], seed: int, patience_s: float) -> None:
    """Ask for ``count`` dialogues, kill ``victims`` one after the other while they are made, and hold the end against the law:
    every item once, and no more calls paid for than those that were in flight at a kill.
    """
    rng = Random(seed)
    with CountingEndpoint() as endpoint:
        for name in ("LLAMACPP", "SPEECH_SERVER", "TRANSCRIPT_SERVER"):
            studio.env |= {f"EQSTUDIO_{name}_BASE_URL": endpoint.url, f"EQSTUDIO_{name}_MODEL": "test-model"}
        studio.env["EQSTUDIO_CONNECTIONS"] = str(CONNECTIONS)
        studio.start()
        studio.shell(ASK % count)
        needed = count * CALLS_EACH
        for number, victim in enumerate(victims, start=1):
            share = number / (len(victims) + 1)
            assert until(lambda share=share: endpoint.paid >= share * needed * 0.8, patience_s), endpoint.paid
            time.sleep(rng.uniform(0.0, 0.5))
            kill(studio, victim)
        assert until(lambda: studio.rows(DONE) == [(count,)], patience_s), (studio.rows(DONE), studio.errors())
        assert until(lambda: web_answers(studio), 60)
        paid = endpoint.paid
    hold(studio, count=count, paid=paid, kills=victims.count("worker"))


def kill(studio: StudioProcess, victim: str) -> None:
    """SIGKILL the process group of one child of the studio, as soon as there is one."""
    found: list[int] = []
    assert until(lambda: found.extend(children(studio, VICTIMS[victim])) or found, 60), studio.errors()
    os.killpg(found[0], signal.SIGKILL)


def children(studio: StudioProcess, words: str) -> list[int]:
    """The studio's own children whose command line holds ``words``. (The broker writes its title over its environment.)"""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, IndexError):
            continue
        if parent == studio.process.pid and words in line:
            found.append(int(folder.name))
    return found


def web_answers(studio: StudioProcess) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{studio.port}/healthz", timeout=5) as answer:
            return answer.status == 200
    except (URLError, OSError):
        return False


def hold(studio: StudioProcess, *, count: int, paid: int, kills: int) -> None:
    assert studio.rows("select count(*), count(distinct uid) from generation_dialogue") == [(count, count)]
    assert studio.rows("select count(*), count(clip_id) from generation_variant") == [(8 * count, 8 * count)]
    assert studio.rows(TWICE) == []
    moved = "select entity_uid from eqstudio_event where entity = 'dialogue' and verb = 'moved' group by entity_uid having count(*) <> 3"
    assert studio.rows(moved) == []
    ((begun, written),) = studio.rows("select calls_begun, calls_done from generation_batch")
    cut_short = begun - written
    assert written >= count * CALLS_EACH
    assert cut_short <= kills * CONNECTIONS
    assert paid <= count * CALLS_EACH + cut_short
