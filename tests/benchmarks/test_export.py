"""How fast a split leaves as Parquet, held against pyarrow alone on the same bytes, and how much memory that takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SMALL, LARGE = 1_000, 10_000
LEAST_SHARE = 0.8
MOST_MB = 300.0
MOST_GROWTH = 1.1
TRIES = 3
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def step(tmp_path):
    """Run one step in a process of its own, on a studio of its own for each size."""

    def run(number, name, argument):
        data = tmp_path / str(number)
        data.mkdir(exist_ok=True)
        environment = {
            **{key: value for key, value in os.environ.items() if key not in {"DATABASE_URL", "REDIS_URL"}},
            "EQSTUDIO_DATA": str(data),
            "EQSTUDIO_ENV_FILE": os.devnull,
            "DJANGO_SETTINGS_MODULE": "eqstudio.settings",
        }
        commands = [[sys.executable, "-m", "tests.benchmarks.export_steps", name, str(argument)]]
        if name == "make":
            commands.insert(0, [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"])
        for command in commands:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout else {}

    return run


def test_a_split_leaves_nearly_as_fast_as_pyarrow_writes_and_in_flat_memory(step, tmp_path, capsys):
    peaks = {}
    for number in (SMALL, LARGE):
        step(number, "make", number)
        ratios = []
        for attempt in range(TRIES):
            alone = step(number, "alone", tmp_path / f"alone-{number}-{attempt}")
            export = step(number, "export", tmp_path / f"export-{number}-{attempt}")
            ratios.append(alone["wall"] / export["wall"])
            peaks[number] = max(peaks.get(number, 0.0), export["peak_mb"])
            with capsys.disabled():
                sys.stdout.write(
                    f"\n{number} dialogues: {export['mb'] / export['wall']:.0f} MB/s, pyarrow alone "
                    f"{alone['mb'] / alone['wall']:.0f} MB/s, {ratios[-1]:.0%}; peak {export['peak_mb']:.0f} MB\n"
                )

    assert max(ratios) >= LEAST_SHARE
    assert peaks[LARGE] < MOST_MB
    assert peaks[LARGE] < MOST_GROWTH * peaks[SMALL]
