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


def generate(env: dict[str, str], url: str, count: int) -> tuple[dict, dict]:
    """Run the command to the end; what it says, and what the endpoint saw."""
    for name in ("LLAMACPP", "SPEECH_SERVER", "TRANSCRIPT_SERVER"):
        env = env | {f"EQSTUDIO_{name}_BASE_URL": f"{url}/v1", f"EQSTUDIO_{name}_MODEL": "test-model"}
    asked = ["--benchmark", "speecheq", "--category", "interpersonal_empathy", "--per-category", str(count)]
    by = ["--text", "llamacpp", "--voice", "speech-server", "--transcriber", "transcript-server"]
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "-v0", "--skip-checks"], cwd=ROOT, env=env, check=True)
    command = ["/usr/bin/env", *manage, "dialogues_generate", *asked, *by, "--connections", str(CONNECTIONS), "--json"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), httpx.request("GET", f"{url}/figures").json()


def test_pipeline_keeps_the_connections_busy(tmp_path, capsys):
    env = environment(tmp_path / "data")
    with endpoint(env) as url:
        said, figures = generate(env, url, DIALOGUES)
    theoretical = CONNECTIONS / LATENCY_S
    rate = figures["calls"] / figures["seconds"]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{figures['calls']} calls of {LATENCY_S * 1000:.0f} ms over {CONNECTIONS} connections in "
            f"{figures['seconds']:.1f} s: {rate:.1f} of {theoretical:.0f} calls a second, ratio {rate / theoretical:.3f}; "
            f"{figures['most']} at once at most, {os.cpu_count()} cores\n"
        )
    assert said["dialogues"] == DIALOGUES
    assert said["failed"] == []
    assert figures["calls"] == DIALOGUES * CALLS_EACH
    assert figures["most"] <= CONNECTIONS
    assert rate >= SHARE * theoretical
