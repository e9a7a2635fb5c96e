"""An export that is killed, or whose disk is full, goes on where it was and ends with the same bytes as an undisturbed one."""

import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.utils import timezone

from annotation.exporters import exporters, huggingface
from annotation.exporters.sink import OWN, Sink
from annotation.models import Export, Split
from annotation.services import export_jobs, export_request, export_write, split_export
from annotation.services.export_jobs import export_key
from annotation.tasks import export_run
from eqstudio.blobs import StorageFull, blob_put
from eqstudio.errors import Conflict, InvalidInput
from generation.models import Clip
from tests.annotation.factories import split_of
from tests.generation.factories import CorpusFactory, clip_make, emosbench_dialogue, speecheq_dialogue

DEADLINE_S = 120
ITEMS = 40
SLOWED = """
import sys, time
sys.argv = ["manage.py", *sys.argv[1:]]
import django
django.setup()
from annotation.exporters import clips
read = clips.blob_read
def slowly(sha256):
    time.sleep(0.005)
    return read(sha256)
clips.blob_read = slowly
from annotation.exporters import huggingface
huggingface.SHARD_BYTES = 60_000
from django.core.files.storage import default_storage
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""


def held(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def split(transactional_db):
    return split_of(items=ITEMS, name="arena")


KILLS = {"huggingface": 2}
"""One kill is enough for the formats whose files are many and small."""


@pytest.mark.parametrize("name", sorted(exporters))
@pytest.mark.django_db(transaction=True)
def test_sigkill_then_resume_gives_the_same_bytes(tmp_path, monkeypatch, name):
    make = emosbench_dialogue if exporters.get(name).benchmark == "emosbench" else speecheq_dialogue
    split = split_of(items=ITEMS, name="arena", make=make)
    wanted = 2 if name == "huggingface" else 30
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "EQSTUDIO_DATA": str(settings.DATA_DIR),
        "DATABASE_URL": database_url(),
    }
    out, partial = tmp_path / "out", tmp_path / ".out.partial"
    arguments = ["split_export", "arena", "--format", name, "--output", str(out), "--resume", "--json"]
    command = [sys.executable, "-c", SLOWED, *arguments]

    kept = []
    for _attempt in range(KILLS.get(name, 1)):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + DEADLINE_S
        while whole(partial) < (kept[-1] if kept else 0) + wanted:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=DEADLINE_S)
        assert not out.exists()
        kept.append(whole(partial))

    monkeypatch.setattr(huggingface, "SHARD_BYTES", 60_000)
    call_command("split_export", "arena", "--format", name, "--output", str(out), "--resume", "--json")
    split_export(split=Split.objects.get(pk=split.pk), format=name, output=tmp_path / "undisturbed")

    assert kept == sorted(set(kept))
    assert kept[0] >= wanted
    assert held(out) == held(tmp_path / "undisturbed")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "undisturbed"]


def whole(partial):
    """How many files bear their final name."""
    names = (path for path in partial.rglob("*") if OWN not in path.parts and not path.name.endswith(".part"))
    return sum(path.is_file() for path in names)


def database_url():
    """The test database, as a process outside of the tests finds it."""
    wanted = settings.DATABASES["default"]
    if wanted["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{wanted['NAME']}"
    return f"postgres://{wanted['USER']}:{wanted['PASSWORD']}@{wanted['HOST']}:{wanted['PORT']}/{wanted['NAME']}"


@contextmanager
def files_no_larger_than(size):
    """What a full disk does to a write, without one: the system refuses to let a file grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def large(db):
    """A split with one clip that is larger than all else that is written meanwhile, also by the database."""
    corpus = CorpusFactory()
    dialogue = speecheq_dialogue(corpus=corpus)
    data = os.urandom(24 * 1024 * 1024)
    clip = clip_make(seconds=0.2)
    big = Clip.objects.create(
        sha256=blob_put(data),
        size=len(data),
        **{
            name: getattr(clip, name)
            for name in ("media_type", "frames", "sample_rate", "channels", "duration", "peak", "peaks")
        },
    )
    dialogue.turns.get(position=5).variants.update(clip=big)
    return split_of(items=0, corpus=corpus, name="large")


@pytest.mark.parametrize("name", ["csv", "huggingface", "speecheq"])
def test_a_full_disk_is_told_and_the_export_goes_on_when_there_is_room(large, tmp_path, name):
    out = tmp_path / "out"
    with files_no_larger_than(16 * 1024 * 1024):
        with pytest.raises(StorageFull, match="Nothing was left behind"):
            split_export(split=large, format=name, output=out)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(StorageFull, match="What was written is kept: free some space and resume"):
            split_export(split=large, format=name, output=out, resume=True)

    assert [path.name for path in tmp_path.iterdir()] == [".out.partial"]
    split_export(split=large, format=name, output=out, resume=True)
    split_export(split=large, format=name, output=tmp_path / "undisturbed")
    assert held(out) == held(tmp_path / "undisturbed")


@pytest.mark.django_db
def test_a_file_that_changed_meanwhile_is_written_again(tmp_path):
    identity = {"format": "any"}
    with Sink(tmp_path / "p", identity) as sink:
        sink.put("kept", b"kept")
        sink.put("spoilt", b"whole")
    (tmp_path / "p" / "spoilt").write_bytes(b"wh")
    (tmp_path / "p" / "stray").write_bytes(b"from nowhere")
    journal = tmp_path / "p" / OWN / "journal.jsonl"
    journal.write_text(journal.read_text(encoding="utf-8") + '{"name": "torn', encoding="utf-8")

    with Sink(tmp_path / "p", identity) as sink:
        assert [name for name, _written in sink.files()] == ["kept"]
        assert not (tmp_path / "p" / "stray").exists()


def test_a_second_file_of_the_same_name_is_refused_and_not_lost(tmp_path):
    with Sink(tmp_path / "p", {}) as sink:
        sink.put("data/a.json", b"one")
        sink.put("data/a.json", b"one")
        with pytest.raises(InvalidInput, match=r"would both be data/a\.json"):
            sink.put("data/a.json", b"another")


@pytest.mark.django_db
def test_one_export_does_not_continue_another(tmp_path):
    with Sink(tmp_path / ".out.partial", {"format": "another"}) as sink:
        sink.put("half", b"half")
    split = split_of(items=1)

    with pytest.raises(InvalidInput, match="beginning of another export"):
        split_export(split=split, format="csv", output=tmp_path / "out", resume=True)
    split_export(split=split, format="csv", output=tmp_path / "out")

    assert not (tmp_path / "out" / "half").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("resume", [True, False])
def test_two_processes_do_not_write_the_same_export(tmp_path, resume):
    split = split_of(items=1)
    with (
        Sink(tmp_path / ".out.partial", {}),
        pytest.raises(Conflict, match="Another process is writing this export"),
    ):
        split_export(split=split, format="csv", output=tmp_path / "out", resume=resume)


def test_a_background_export_that_takes_long_goes_on_in_steps(split, monkeypatch, tmp_path):
    monkeypatch.setattr(huggingface, "SHARD_BYTES", 60_000)
    monkeypatch.setattr(export_jobs, "STEP", timedelta(0))
    export = export_request(split=split, format="huggingface")

    states = []
    for _step in range(ITEMS):
        states.append(export_write(export_id=export.pk, now=timezone.now()).state)
        if states[-1] == "done":
            break

    assert states[0] == "waiting"
    assert states[-1] == "done"
    assert Export.objects.get().size == Path(default_storage.path(export_key(export))).stat().st_size


def test_the_task_goes_on_with_the_next_step(split, monkeypatch):
    monkeypatch.setattr(huggingface, "SHARD_BYTES", 200_000)
    monkeypatch.setattr(export_jobs, "STEP", timedelta(0))
    export = export_request(split=split, format="huggingface")

    export_run(export.pk)

    export.refresh_from_db()
    assert (export.state, export.error, export.pushed) == ("done", "", {})
