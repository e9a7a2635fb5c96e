"""Nonsense in the environment stops the start, and says what is wrong."""

from __future__ import annotations

import os
import re
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
    (tmp_path / "key").write_text("a-secret-from-a-file\n")
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


def test_plain_logs_tell_where_it_failed_but_no_values(tmp_path):
    ask = (
        "import logging.config; logging.config.dictConfig(settings.LOGGING)\n"
        "def fail(password):\n    raise ValueError('broken')\n"
        "try:\n    fail('hunter' + str(2))\nexcept ValueError:\n    logging.getLogger('studio').exception('it failed')"
    )
    done = settings_read(tmp_path, ask, EQSTUDIO_LOG_FORMAT="plain")
    assert "ValueError: broken" in done.stderr
    assert "in fail" in done.stderr
    assert "hunter2" not in done.stderr


def test_misspelt_name_in_the_file_of_settings_stops_the_start(tmp_path):
    (tmp_path / "env").write_text("EQSTUDIO_SWEEP_SECOND=5\n")
    done = settings_read(tmp_path, EQSTUDIO_ENV_FILE=str(tmp_path / "env"))
    assert done.returncode == 1
    assert "sets EQSTUDIO_SWEEP_SECOND" in done.stderr
    assert "Did you mean EQSTUDIO_SWEEP_SECONDS?" in done.stderr


def test_every_line_of_the_example_may_be_uncommented_as_it_is(tmp_path):
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    (tmp_path / "env").write_text(re.sub(r"^# ([A-Z][A-Z0-9_]+=)", r"\1", example, flags=re.MULTILINE))
    ask = "print(settings.DATABASES['default']['NAME'], settings.BROKER_EMBEDDED, settings.AWS_S3_ENDPOINT_URL)"
    done = settings_read(tmp_path, ask, EQSTUDIO_ENV_FILE=str(tmp_path / "env"))
    assert done.stdout == f"{tmp_path / 'studio.sqlite3'} files None\n", done.stderr


def test_two_studios_on_one_redis_share_no_cache(tmp_path):
    ask = "print({cache['KEY_PREFIX'] for cache in settings.CACHES.values()})"
    done = settings_read(tmp_path, ask, REDIS_URL="redis://localhost/0", EQSTUDIO_BROKER_PREFIX="second:")
    assert done.stdout == "{'second:eqstudio'}\n", done.stderr


def test_one_proxy_is_trusted_in_production_and_none_otherwise(tmp_path):
    ask = "print(settings.ALLAUTH_TRUSTED_PROXY_COUNT)"
    assert settings_read(tmp_path, ask).stdout == "0\n"
    assert settings_read(tmp_path, ask, EQSTUDIO_PRODUCTION="1", SECRET_KEY="x").stdout == "1\n"
    assert settings_read(tmp_path, ask, EQSTUDIO_PROXIES="2").stdout == "2\n"


def test_presigned_addresses_are_signed_as_every_region_takes_it(tmp_path):
    ask = (
        "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'eqstudio.settings'; django.setup()\n"
        "from django.core.files.storage import default_storage\nprint(default_storage.url('clips/a'))"
    )
    store = {"AWS_STORAGE_BUCKET_NAME": "clips", "AWS_ACCESS_KEY_ID": "studio", "AWS_SECRET_ACCESS_KEY": "not-a-secret"}
    done = settings_read(tmp_path, ask, AWS_S3_ENDPOINT_URL="https://files.example.org", **store)
    assert done.stdout.startswith("https://files.example.org/clips/clips/a?"), done.stderr
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in done.stdout
