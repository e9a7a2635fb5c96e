"""SIGKILL in the middle of generation loses nothing but the clip in flight."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.databases import sqlite_copy

ROOT = Path(__file__).resolve().parents[2]
DIALOGUES, CLIPS = 6, 48
DEADLINE_S = 120
ASKED = [
    "dialogues_generate",
    *("--benchmark", "speecheq", "--per-category", "3", "--name", "killed"),
    *("--category", "interpersonal_empathy", "--category", "stress_management_optimism"),
    *("--text", "fake", "--voice", "fake", "--transcriber", "fake", "--json"),
]


@pytest.fixture
def studio(tmp_path):
    """A studio of its own in a folder of its own, as a person's computer has it: real settings, SQLite in a file."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE"}
    }
    environment |= {
        "EQSTUDIO_DATA": str(tmp_path),
        "EQSTUDIO_ENV_FILE": os.devnull,
        "DJANGO_SETTINGS_MODULE": "eqstudio.settings",
    }

    def start(*arguments, program=("manage.py",)):
        command = [sys.executable, *program, *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    sqlite_copy(tmp_path / "studio.sqlite3")
    return start


def rows(folder, query):
    with sqlite3.connect(f"file:{folder / 'studio.sqlite3'}?mode=ro", uri=True, timeout=20) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def spoken(folder):
    return rows(folder, "select count(*) from generation_variant where clip_id is not null")[0][0]


def kill_when(process, folder, wanted):
    """SIGKILL the whole thing as soon as ``wanted`` clips are there."""
    end = time.monotonic() + DEADLINE_S
    while spoken(folder) < wanted:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == -signal.SIGKILL


def test_killed_three_times_generation_finishes_with_every_clip_once(studio, tmp_path):
    kept = []
    for wanted in (3, 11, 26):
        kill_when(studio(*ASKED), tmp_path, wanted)
        kept.append(spoken(tmp_path))

    finished = studio(*ASKED)
    out, problems = finished.communicate(timeout=DEADLINE_S)

    assert finished.returncode == 0, problems
    result = json.loads(out)
    assert (result["added"], result["dialogues"], result["states"], result["failed"]) == (
        0,
        DIALOGUES,
        {"ready": DIALOGUES},
        [],
    )
    assert kept == sorted(kept)
    assert rows(tmp_path, "select count(*), count(clip_id) from generation_variant") == [(CLIPS, CLIPS)]
    assert rows(tmp_path, "select count(*), count(distinct sha256) from generation_clip") == [(CLIPS, CLIPS)]
    paid = "select count(*), count(distinct request_hash) from generation_providercall where kind = '{}' and outcome = 'ok'"
    assert rows(tmp_path, paid.format("voice")) == [(CLIPS, CLIPS)]
    assert rows(tmp_path, paid.format("text")) == [(DIALOGUES, DIALOGUES)]
    assert rows(tmp_path, "select count(*) from generation_providercall where outcome <> 'ok'") == [(0,)]
    stored = [path for path in (tmp_path / "media" / "clips").rglob("*") if path.is_file()]
    kept_sounds = "select sha256 from generation_clip union select sha256 from generation_rendition"
    assert sorted(path.name for path in stored if "partial" not in path.name) == sorted(
        sha256 for (sha256,) in rows(tmp_path, kept_sounds)
    )


IN_STAGES = """
import sys
from django.core.management import execute_from_command_line
import django
django.setup()
from generation.providers.text.fake import FakeText
FakeText.writes_in_stages = True
execute_from_command_line(["manage.py", *sys.argv[1:]])
"""
CALLS_EACH = 8
"""Six parts and verdicts for a SpeechEQ script, two guesses by its words."""


def test_killed_twice_while_writing_in_stages_every_part_is_paid_for_once(studio, tmp_path):
    for wanted in (3, 17):
        process = studio(*ASKED, program=("-c", IN_STAGES))
        end = time.monotonic() + DEADLINE_S
        while rows(tmp_path, "select count(*) from generation_providercall where kind = 'text'")[0][0] < wanted:
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < end
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=DEADLINE_S)

    finished = studio(*ASKED, program=("-c", IN_STAGES))
    out, problems = finished.communicate(timeout=DEADLINE_S)

    assert finished.returncode == 0, problems
    assert json.loads(out)["failed"] == []
    paid = "select count(*), count(distinct request_hash) from generation_providercall where kind = 'text' and outcome = 'ok'"
    assert rows(tmp_path, paid) == [(DIALOGUES * CALLS_EACH, DIALOGUES * CALLS_EACH)]
    taken = "select count(*), count(distinct dialogue_id || stage) from generation_candidate where chosen and key in ('', 's4.resonant')"
    assert rows(tmp_path, taken) == [(DIALOGUES * 4, DIALOGUES * 4)]
    titles = "select count(*), count(distinct title) from generation_dialogue"
    assert rows(tmp_path, titles) == [(DIALOGUES, DIALOGUES)]
