"""The pipeline against a fake endpoint that takes 200 ms for an answer, with 32 connections."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[2]
LATENCY_S, CONNECTIONS = 0.2, 32
MORE_MIB = 25.0
SHARE = 0.9
DIALOGUES = 120
CALLS_EACH = 1 + 8 + 8


@contextmanager
def endpoint(env: dict[str, str]) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.benchmarks.endpoint", str(LATENCY_S), "speecheq", "interpersonal_empathy"]
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
        "DJANGO_SETTINGS_MODULE": "eqstudio.settings",
    }


MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:])
sys.stderr.write(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}\\n")
sys.exit(done.returncode)
"""
"""Runs a command and says last how many KiB the largest of its processes had at its peak."""


def generate(env: dict[str, str], url: str, count: int) -> tuple[dict, dict, float]:
    """Run the command to the end; what it says, what the endpoint saw, and the peak of its largest process in MiB."""
    for name in ("LLAMACPP", "SPEECH_SERVER", "TRANSCRIPT_SERVER"):
        env = env | {f"EQSTUDIO_{name}_BASE_URL": f"{url}/v1", f"EQSTUDIO_{name}_MODEL": "test-model"}
    asked = ["--benchmark", "speecheq", "--category", "interpersonal_empathy", "--per-category", str(count)]
    by = ["--text", "llamacpp", "--voice", "speech-server", "--transcriber", "transcript-server"]
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v0", "--skip-checks"], cwd=ROOT, env=env, check=True)
    command = [
        sys.executable,
        "-c",
        MEASURED,
        *manage,
        "dialogues_generate",
        *asked,
        *by,
        "--connections",
        str(CONNECTIONS),
        "--json",
    ]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    peak = int(done.stderr.splitlines()[-1]) / 1024
    return json.loads(done.stdout), httpx.request("GET", f"{url}/figures").json(), peak


def test_pipeline_keeps_the_connections_busy(tmp_path, capsys):
    env = environment(tmp_path / "data")
    with endpoint(env) as url:
        said, figures, peak = generate(env, url, DIALOGUES)
    theoretical = CONNECTIONS / LATENCY_S
    rate = figures["full"]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{figures['calls']} calls of {LATENCY_S * 1000:.0f} ms over {CONNECTIONS} connections in "
            f"{figures['seconds']:.1f} s; while the batch was full {rate:.1f} of {theoretical:.0f} calls a second, "
            f"ratio {rate / theoretical:.3f}; "
            f"{figures['most']} at once at most, {os.cpu_count()} cores, "
            f"{peak:.0f} MiB at most, load {os.getloadavg()[0]:.1f}\n"
        )
    assert said["dialogues"] == DIALOGUES
    assert said["failed"] == []
    assert figures["calls"] == DIALOGUES * CALLS_EACH
    assert figures["most"] <= CONNECTIONS
    assert rate >= SHARE * theoretical


def test_memory_does_not_grow_with_the_batch(tmp_path, capsys):
    peaks = []
    for count in (DIALOGUES // 2, DIALOGUES * 2):
        env = environment(tmp_path / str(count))
        with endpoint(env) as url:
            peaks.append(generate(env, url, count)[2])
    with capsys.disabled():
        sys.stdout.write(
            f"\n{peaks[0]:.0f} MiB for {DIALOGUES // 2} dialogues, {peaks[1]:.0f} MiB for {DIALOGUES * 2}\n"
        )
    assert peaks[1] - peaks[0] < MORE_MIB
