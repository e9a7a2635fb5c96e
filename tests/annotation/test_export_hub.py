"""A split goes to a hub at any address, survives dropped connections, and is fetched back and compared."""

import hashlib
import json
import subprocess
import sys
from collections import Counter

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.exporters import huggingface
from annotation.services import (
    export_push,
    export_request,
    export_retry,
    export_write,
    split_export,
    split_withdraw,
)
from eqstudio.errors import Conflict, InvalidInput, ProviderError
from tests.annotation.factories import split_of
from tests.annotation.fake_hub import TOKEN, hub_running

pytestmark = pytest.mark.django_db


@pytest.fixture
def token(monkeypatch):
    monkeypatch.setenv("HF_TEST_TOKEN", TOKEN)


@pytest.fixture
def folder(tmp_path):
    split_export(split=split_of(items=3, name="arena"), format="huggingface", output=tmp_path / "arena-v1")
    return tmp_path / "arena-v1"


def push(folder, hub, monkeypatch, **options):
    monkeypatch.setenv("HF_ENDPOINT", hub.address)
    return export_push(folder=folder, repository="lab/arena", token_env="HF_TEST_TOKEN", **options)


def held(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("chunk", [0, 5_000])
def test_everything_arrives_as_it_was_and_is_compared(folder, token, monkeypatch, chunk):
    with hub_running(chunk=chunk) as hub:
        told = push(folder, hub, monkeypatch)

    assert hub.files == held(folder)
    assert hub.repositories["lab/arena"]["private"] is True
    assert hub.commits[-1][-1] == "SHA256SUMS"
    assert (told["files"], told["rows"], told["commit"]) == (len(hub.files), 3, f"{len(hub.commits):040x}")
    assert sorted(path.name for path in folder.parent.iterdir()) == ["arena-v1"]


def test_dropped_connections_are_taken_up_again(folder, token, monkeypatch, caplog):
    with hub_running(drops=Counter(put=2, get=2, post=1)) as hub:
        push(folder, hub, monkeypatch)

    assert hub.files == held(folder)
    resumed = [name for name in hub.received if name.startswith("get ") and not name.endswith(" from 0")]
    assert resumed
    assert "retry_scheduled" in caplog.text
    assert TOKEN not in caplog.text


def test_what_the_hub_has_is_not_sent_again(folder, token, monkeypatch):
    with hub_running() as hub:
        push(folder, hub, monkeypatch)
        sent = {name: size for name, size in hub.received.items() if not name.startswith("get ")}
        push(folder, hub, monkeypatch)

        again = {name: size for name, size in hub.received.items() if not name.startswith("get ")}
    assert again == sent


def test_what_was_withdrawn_is_not_left_on_the_hub_and_no_row_is_there_twice(tmp_path, token, monkeypatch):
    monkeypatch.setattr(huggingface, "SHARD_BYTES", 1)
    first = split_of(items=3, name="arena")
    gone = first.items.first().dialogue.uid
    second = split_withdraw(split=first, items=[gone], reason="The speaker asked for it.", now=timezone.now())
    for split in (first, second):
        split_export(split=split, format="huggingface", output=tmp_path / str(split))

    with hub_running() as hub:
        for split in (first, second):
            told = push(tmp_path / str(split), hub, monkeypatch)

    assert hub.files == held(tmp_path / str(second))
    assert sum(name.endswith(".parquet") for name in hub.files) == told["rows"] == 2


def test_a_file_that_somebody_else_adds_meanwhile_is_named_and_goes_with_the_next_push(folder, token, monkeypatch):
    with hub_running() as hub:
        with pytest.raises(Conflict, match=r"1 files .*: data/stray\.parquet\. Push again"):
            push(folder, hub, monkeypatch, progress=lambda: hub.files.setdefault("data/stray.parquet", b"PAR1"))
        push(folder, hub, monkeypatch)

    assert hub.files == held(folder)


def test_a_file_that_comes_back_otherwise_is_named(folder, token, monkeypatch):
    with hub_running(spoils={"manifest.json"}) as hub, pytest.raises(Conflict, match=r"1 files .*: manifest\.json"):
        push(folder, hub, monkeypatch)


def test_a_push_that_was_cut_off_goes_on_where_it_was(folder, token, monkeypatch):
    with hub_running() as hub:
        seen = []

        def stop():
            seen.append(1)
            if len(seen) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            push(folder, hub, monkeypatch, progress=stop)
        fetched = Counter(hub.received)
        push(folder, hub, monkeypatch)

    assert hub.files == held(folder)
    assert len(hub.commits) == 1
    assert [name for name, times in hub.received.items() if name.startswith("get ") and times > 1] == [
        name for name in fetched if name.startswith("get ") and hub.received[name] > 1
    ]


@pytest.mark.parametrize(
    ("repository", "variable", "said"),
    [
        ("arena", "HF_TEST_TOKEN", "owner/name"),
        ("lab/arena/../x", "HF_TEST_TOKEN", "owner/name"),
        ("lab/arena", "SECRET_KEY", "begins with HF_"),
        ("lab/arena", "HF_NOT_SET", "HF_NOT_SET is not set"),
    ],
)
def test_a_push_without_name_or_token_is_refused(  # noqa: PLR0917
    folder, token, monkeypatch, repository, variable, said
):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    with pytest.raises(InvalidInput, match=said):
        export_push(folder=folder, repository=repository, token_env=variable)


def test_a_refused_token_is_told_without_the_token(folder, monkeypatch):
    monkeypatch.setenv("HF_TEST_TOKEN", "hf_" + "wrong" * 4)

    with hub_running() as hub, pytest.raises(ProviderError, match="refuses the token for lab/arena") as raised:
        push(folder, hub, monkeypatch)

    assert "wrong" not in raised.value.message


def test_the_command_exports_and_pushes(tmp_path, token, monkeypatch, capsys):
    split_of(items=2, name="arena")
    with hub_running() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        arguments = ("--push", "lab/arena", "--token-env", "HF_TEST_TOKEN", "--public", "--json")
        call_command("split_export", "arena", "--output", str(tmp_path / "out"), *arguments)

    told = json.loads(capsys.readouterr().out)
    assert told["pushed"]["rows"] == 2
    assert hub.repositories["lab/arena"]["private"] is False
    assert {name: hashlib.sha256(data).hexdigest() for name, data in hub.files.items() if name != "SHA256SUMS"} == {
        file["path"]: file["sha256"] for file in told["files"] if file["path"] != "SHA256SUMS"
    }


@pytest.mark.parametrize("other", [("--format", "huggingface"), ("--format", "csv", "--bom")])
def test_a_finished_folder_of_another_form_is_not_pushed_in_its_place(tmp_path, token, monkeypatch, other):
    split_of(items=1, name="arena")
    out = ("--output", str(tmp_path / "out"))
    call_command("split_export", "arena", *out, "--format", "csv")
    arguments = ("--resume", "--push", "lab/arena", "--token-env", "HF_TEST_TOKEN")
    with hub_running() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        with pytest.raises(CommandError, match="holds another export than arena-v1"):
            call_command("split_export", "arena", *out, *arguments, *other)
        assert hub.files == {}
        call_command("split_export", "arena", *out, *arguments, "--format", "csv")

    assert hub.files == held(tmp_path / "out")


def test_what_hubs_and_evaluations_put_beside_an_export_is_told_and_no_fault(tmp_path):
    split_export(split=split_of(items=1), format="csv", output=tmp_path / "out")
    (tmp_path / "out" / ".gitattributes").write_text("*.parquet filter=lfs")
    for name in ("logs", ".cache"):
        (tmp_path / "out" / name).mkdir()
        (tmp_path / "out" / name / "one.json").write_text("{}")
    command = [sys.executable, "-I", str(tmp_path / "out" / "verify.py")]

    found = subprocess.run(command, capture_output=True, text=True, check=False)
    (tmp_path / "out" / "audio" / "logs").write_text("stray")
    stray = subprocess.run(command, capture_output=True, text=True, check=False)

    beside = [f"beside it, not checked: {name}" for name in (".cache", ".gitattributes", "logs")]
    assert (found.returncode, found.stdout.splitlines()) == (0, [*beside, "whole and unchanged"])
    assert (stray.returncode, stray.stdout.splitlines()) == (1, [*beside, "not in SHA256SUMS: audio/logs"])


def test_a_background_export_is_pushed_and_a_failed_one_goes_on(token, monkeypatch):
    split = split_of(items=2, name="arena")
    export = export_request(split=split, format="jsonl", repository="lab/arena", token_env="HF_TEST_TOKEN")
    with hub_running(spoils={"test.jsonl"}) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        failed = export_write(export_id=export.pk, now=timezone.now())
        assert (failed.state, "test.jsonl" in failed.error) == ("failed", True)

        hub.spoils.clear()
        export_retry(export=failed)
        done = export_write(export_id=export.pk, now=timezone.now())

    assert (done.state, done.pushed["repository"], done.pushed["rows"]) == ("done", "lab/arena", 2)
    with pytest.raises(Conflict, match="has not failed"):
        export_retry(export=done)
