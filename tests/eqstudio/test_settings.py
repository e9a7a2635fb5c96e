"""Nonsense in the environment stops the start, and says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def settings_read(tmp_path: Path, ask: str = "pass", **environment: str) -> subprocess.CompletedProcess[str]:
    """Read the settings in a process of their own, with nothing but this environment, then run ``ask`` on them."""
    env = {"PATH": os.environ["PATH"], "EQSTUDIO_DATA": str(tmp_path), "EQSTUDIO_ENV_FILE": os.devnull, **environment}
    code = f"from eqstudio import settings\n{ask}"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"EQSTUDIO_SWEEP_SECONDS": "0"}, "EQSTUDIO_SWEEP_SECONDS"),
        ({"EQSTUDIO_LOG_LEVEL": "LOUD"}, "EQSTUDIO_LOG_LEVEL"),
        ({"EQSTUDIO_DEBUG": "perhaps"}, "EQSTUDIO_DEBUG"),
        ({"EQSTUDIO_BROKER": "pigeons"}, "EQSTUDIO_BROKER"),
        ({"DATABASE_URL": "mysql://localhost/studio"}, "the studio runs on sqlite:/// and postgres:// only"),
        ({"REDIS_URL": "localhost:6379"}, "REDIS_URL must start with redis://"),
        ({"EQSTUDIO_PRODUCTION": "1"}, "SECRET_KEY must be set"),
        ({"EQSTUDIO_SWEEP_SECOND": "5"}, "Did you mean EQSTUDIO_SWEEP_SECONDS?"),
        ({"EQSTUDIO_API_RATE": "many"}, "EQSTUDIO_API_RATE"),
        ({"SENTRY_DSN": "https://key@localhost/1"}, "sentry-sdk is not installed"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_nonsense_stops_the_start(tmp_path, environment, message):
    done = settings_read(tmp_path, **environment)
    assert done.returncode == 1
    assert message in done.stderr


def test_secret_may_stand_in_a_file(tmp_path):
    (tmp_path / "key").write_text("a-secret-from-a-file")
    done = settings_read(tmp_path, "print(settings.SECRET_KEY)", SECRET_KEY_FILE=str(tmp_path / "key"))
    assert done.stdout == "a-secret-from-a-file\n"


def test_embedded_default_keeps_one_secret_of_its_own(tmp_path):
    first = settings_read(tmp_path, "print(settings.SECRET_KEY)").stdout
    second = settings_read(tmp_path, "print(settings.SECRET_KEY)").stdout
    assert first == second
    assert len(first) > 40
    assert (tmp_path / "secret-key").stat().st_mode & 0o077 == 0


def test_logs_are_one_json_object_a_line_when_asked_for(tmp_path):
    ask = (
        "import logging.config; logging.config.dictConfig(settings.LOGGING)\n"
        "import structlog; structlog.get_logger('studio').warning('a line', number=7)\n"
        "import json, sys; logging.getLogger('other').warning('another')"
    )
    done = settings_read(tmp_path, ask, EQSTUDIO_LOG_FORMAT="json")
    lines = [line for line in done.stderr.splitlines() if line.startswith("{")]
    assert len(lines) == 2
    assert '"number": 7' in lines[0]
    assert '"event": "another"' in lines[1]
