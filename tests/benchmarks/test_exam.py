"""An exam against a fake endpoint that takes 50 ms for an answer, with 32 connections: every answer committed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
LATENCY_S, CONNECTIONS = 0.05, 32
ITEMS, QUESTIONS_EACH = 1000, 2
RATE = 400
CPU_MS = 2.5
START_S = 2.0
BYTES_EACH = 1000
MEMORY_MIB = 120

PREPARE = """
import sys, django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from tests.benchmarks.exam_seed import exam_seed
exam_seed(int(sys.argv[1]), audio=sys.argv[2] == "audio")
"""
RUN = """
import json, os, resource, sys, time
began = time.monotonic()
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
import django
django.setup()
bare = rss()
from django.core.management import call_command
import eqstudio.net_json as net
sent = net.json_post
first = []
def post(*arguments, **options):
    if not first:
        used = resource.getrusage(resource.RUSAGE_SELF)
        first.extend([time.monotonic(), used.ru_utime + used.ru_stime])
    return sent(*arguments, **options)
import evaluation.backends.openai as backend
backend.json_post = post
code = 0
try:
    call_command("study_run", "exam", "--model", "openai", "--evaluator", sys.argv[1], "--runs", "1", "--json", "--skip-checks")
except SystemExit as end:
    code = end.code or 0
after = resource.getrusage(resource.RUSAGE_SELF)
ended = time.monotonic()
spent = after.ru_utime + after.ru_stime - first[1]
print(json.dumps({"start_s": first[0] - began, "start_cpu_s": first[1], "seconds": ended - first[0], "cpu_s": spent,
    "bare_mib": bare, "peak_mib": after.ru_maxrss / 1024}), file=sys.stderr)
sys.exit(code)
"""


@contextmanager
def server(env: dict[str, str]) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.benchmarks.exam_server", str(LATENCY_S)]
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def environment(data: Path) -> dict[str, str]:
    data.mkdir()
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    return kept | {
        "EQSTUDIO_DATA": str(data),
        "EQSTUDIO_ENV_FILE": os.devnull,
        "EQSTUDIO_EXAM_MODEL": "test-model",
        "EQSTUDIO_EXAM_KEY_ENV": "",
        "DJANGO_SETTINGS_MODULE": "eqstudio.settings",
    }


def size(data: Path) -> int:
    """Bytes of the database with all of its write-ahead log folded in."""
    connection = sqlite3.connect(data / "studio.sqlite3")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages, free, page = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    connection.close()
    return (pages - free) * page


def exam(env: dict[str, str], *, evaluator: str, items: int) -> dict[str, float]:
    """Sit it once; what the endpoint saw, what the process took, how much the database grew."""
    data = Path(env["EQSTUDIO_DATA"])
    kind = "audio" if evaluator == "mcq" else "text"
    subprocess.run([sys.executable, "-c", PREPARE, str(items), kind], cwd=ROOT, env=env, check=True)
    before = size(data)
    with server(env) as url:
        env = env | {"EQSTUDIO_EXAM_BASE_URL": f"{url}/v1"}
        command = [sys.executable, "-c", RUN, evaluator]
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        figures = httpx.request("GET", f"{url}/figures").json()
    said = json.loads(done.stdout)["sittings"][0]
    took = json.loads(done.stderr.splitlines()[-1])
    samples = items * QUESTIONS_EACH
    assert (said["state"], said["answers"], figures["calls"]) == ("finished", samples, samples)
    return {
        **took,
        "rate": samples / took["seconds"],
        "cpu_ms": 1000 * took["cpu_s"] / samples,
        "bytes": (size(data) - before) / samples,
        "most": figures["most"],
    }


def told(what: str, found: dict[str, float]) -> None:
    sys.stdout.write(
        f"\n{what}: {found['rate']:.0f} samples a second of {CONNECTIONS / LATENCY_S:.0f} possible, all committed; "
        f"{found['cpu_ms']:.2f} ms of processor time a sample, first call after {found['start_s']:.2f} s "
        f"({found['start_cpu_s']:.2f} s of processor time), "
        f"{found['bytes']:.0f} bytes a sample, {found['peak_mib']:.0f} MiB at most of which {found['bare_mib']:.0f} are Django's, "
        f"{found['most']:.0f} at once, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n"
    )


def test_text_samples(tmp_path, capsys):
    found = exam(environment(tmp_path / "data"), evaluator="text", items=ITEMS)
    with capsys.disabled():
        told("text", found)
    assert found["most"] <= CONNECTIONS
    assert found["bytes"] < BYTES_EACH
    assert found["peak_mib"] - found["bare_mib"] < MEMORY_MIB
    assert found["cpu_ms"] < CPU_MS
    assert found["start_s"] < START_S
    assert found["rate"] >= RATE


def test_audio_is_sent_and_not_stored(tmp_path, capsys):
    found = exam(environment(tmp_path / "data"), evaluator="mcq", items=200)
    with capsys.disabled():
        told("audio", found)
    assert found["bytes"] < BYTES_EACH
    assert found["peak_mib"] - found["bare_mib"] < MEMORY_MIB
