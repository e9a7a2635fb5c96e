"""The Hugging Face folder opens in ``datasets`` with the original bytes inside, and appears whole or not at all."""

import hashlib
import json
import zipfile
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, default_storage
from django.core.management import call_command
from django.utils import timezone

from annotation.exporters import huggingface
from annotation.exporters.rows import split_records
from annotation.models import Export
from annotation.services import export_request, export_write, split_export, split_freeze
from annotation.services.export_jobs import export_key
from annotation.tasks import annotation_sweep
from eqstudio.blobs import StorageFull, blob_key, blob_read
from eqstudio.errors import InvalidInput, UnknownAlias
from generation.models import Clip, Dialogue
from generation.services import corpus_import
from tests.annotation.factories import judged_round, lease, round_with, split_of
from tests.bucket import FullBucket
from tests.generation.factories import CorpusFactory, echomind_dialogue, emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db
FILES = [
    "README.md",
    "SHA256SUMS",
    "chart.svg",
    "data/test-00000-of-00001.parquet",
    "judgements/codebook.json",
    "judgements/raters.csv",
    "judgements/ratings.csv",
    "manifest.json",
    "verify.py",
]


@pytest.fixture
def split():
    made = judged_round(items=3, is_demo=True)
    return split_freeze(name="arena", round=made, now=timezone.now())


def test_load_dataset_opens_the_folder_and_finds_the_original_bytes(split, tmp_path, monkeypatch):
    for name in ("HF_HOME", "HF_DATASETS_CACHE", "HF_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    split_export(split=split, format="huggingface", output=tmp_path / "out")
    loaded = datasets.load_dataset(str(tmp_path / "out"), split="test", cache_dir=str(tmp_path / "cache"))

    audio = loaded.features["turns"].feature["variants"].feature["audio"]
    assert isinstance(audio, datasets.Audio)
    features = json.loads(json.dumps(loaded.features.to_dict()))
    features["turns"]["feature"]["variants"]["feature"]["audio"]["decode"] = False
    rows = list(loaded.cast(datasets.Features.from_dict(features)))
    variants = [variant for row in rows for turn in row["turns"] for variant in turn["variants"]]
    assert len(rows) == 3
    assert [hashlib.sha256(variant["audio"]["bytes"]).hexdigest() for variant in variants] == [
        v["sha256"] for v in variants
    ]
    assert {v["sha256"] for v in variants} == set(Clip.objects.values_list("sha256", flat=True))


def test_a_row_holds_the_dialogue_its_judgements_and_file_names_without_paths(split, tmp_path):
    split_export(split=split, format="huggingface", output=tmp_path / "out")

    row = pq.read_table(tmp_path / "out" / "data" / "test-00000-of-00001.parquet").to_pylist()[0]

    critical = row["turns"][3]["variants"]
    assert [variant["label"] for variant in critical] == ["high", "low"]
    assert sorted(critical[0]["grades"]) == [2, 3, 3]
    assert critical[0]["audio"]["path"] == f"{critical[0]['sha256'][:24]}.wav"
    assert row["outcome"] == "kept"
    raters = [found["rater"] for found in row["judgements"]]
    assert raters == sorted(raters)
    assert {name.partition("-")[0] for name in raters} == {"judge"}
    assert sorted(critical[0]["graded_by"]) == raters
    assert json.loads(row["scenario"])["title"] == "After work"


def test_the_outcome_of_a_row_is_that_of_the_manifest():
    made = judged_round(items=1, agree_needed=3)
    split = split_freeze(name="arena", round=made, recipe={"consensus": "majority"}, now=timezone.now())

    (row,) = split_records(split)

    assert made.items.get().outcome == "disputed"
    assert row["outcome"] == split.items.get().entry["judgements"]["outcome"] == "kept"


def test_the_card_tells_configuration_agreement_limits_and_that_it_is_a_demo(split, tmp_path):
    split_export(split=split, format="huggingface", output=tmp_path / "out")

    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")

    assert card.startswith("---\nlanguage:\n- en\n")
    assert "path: data/test-*.parquet" in card
    assert "**Demo data.**" in card
    assert (
        "| grade | all judged items | alpha_ordinal |" in card
        or "grade | all judged items | percent_agreement |" in card
    )
    assert "## Limitations" in card
    assert split.manifest_hash in card
    assert "person-" not in card


def test_the_card_tells_the_agreement_over_the_items_of_the_split_alone(tmp_path):
    made = judged_round(items=5)
    split = split_freeze(name="few", round=made, recipe={"size": 2}, now=timezone.now())
    split_export(split=split, format="csv", output=tmp_path / "out")

    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8").splitlines()

    told = [line for line in card if "| grade |" in line and "| percent_agreement |" in line]
    n = split.manifest["agreement"]["estimate"]["n"]
    assert [line.rpartition(", n\N{NO-BREAK SPACE}")[2] for line in told] == [f"{n // 2 * 5} |", f"{n} |"]


def test_every_file_is_in_the_checksums_and_they_are_right(split, tmp_path):
    split_export(split=split, format="huggingface", output=tmp_path / "out")

    lines = (tmp_path / "out" / "SHA256SUMS").read_text().splitlines()

    named = {line.split("  ")[1]: line.split("  ")[0] for line in lines}
    assert sorted(named) == [name for name in FILES if name != "SHA256SUMS"]
    for name, expected in named.items():
        assert hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() == expected


def test_large_splits_are_written_in_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface, "SHARD_BYTES", 1)
    split = split_of(items=3)

    split_export(split=split, format="huggingface", output=tmp_path / "out")

    names = sorted(path.name for path in (tmp_path / "out" / "data").iterdir())
    assert names == [f"test-0000{n}-of-00003.parquet" for n in range(3)]


def test_every_benchmark_is_exported(tmp_path):
    split = split_of(items=1, make=emosbench_dialogue)

    split_export(split=split, format="huggingface", output=tmp_path / "out")

    row = pq.read_table(tmp_path / "out" / "data" / "test-00000-of-00001.parquet").to_pylist()[0]
    assert [variant["intended_grade"] for variant in row["turns"][1]["variants"]] == [1, 2, 3, 4]


def test_an_unknown_format_names_those_there_are(split, tmp_path):
    with pytest.raises(UnknownAlias, match=r"Known: .*huggingface"):
        split_export(split=split, format="hugingface", output=tmp_path / "out")


def test_a_folder_with_something_in_it_is_left_alone(split, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")

    with pytest.raises(InvalidInput, match="not empty"):
        split_export(split=split, format="huggingface", output=tmp_path)

    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_missing_clip_leaves_nothing_behind(split, tmp_path):
    clip = Clip.objects.first()
    default_storage.delete(blob_key(clip.sha256))

    turn = clip.variants.get().turn
    with pytest.raises(
        InvalidInput, match=f"line {turn.position} of .*{turn.dialogue.uid}, file {clip.sha256}.* is gone"
    ):
        split_export(split=split, format="huggingface", output=tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


def test_a_clip_that_is_no_longer_what_was_frozen_leaves_nothing_behind(split, tmp_path):
    clip = Clip.objects.first()
    Path(default_storage.path(blob_key(clip.sha256))).write_bytes(b"rubbish")

    with pytest.raises(InvalidInput, match=f"{clip.variants.get().turn.dialogue.uid}.* no longer what was frozen"):
        split_export(split=split, format="huggingface", output=tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_nothing_behind(split, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)

    with pytest.raises(StorageFull, match="No space left"):
        split_export(split=split, format="huggingface", output=tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


def test_the_folder_that_one_stands_in_is_filled(split, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    split_export(split=split, format="csv", output=Path())

    assert [path.name for path in tmp_path.iterdir()] == ["here"]
    assert (tmp_path / "here" / "metadata.csv").exists()


@pytest.mark.parametrize("resume", [False, True])
def test_a_place_that_cannot_be_is_not_told_as_want_of_space(split, tmp_path, resume):
    (tmp_path / "file").write_text("mine")

    with pytest.raises(InvalidInput, match=r"cannot be written there \(.*\)\. Name another folder") as raised:
        split_export(split=split, format="csv", output=tmp_path / "file" / "out", resume=resume)

    assert raised.value.field == "output"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_command_writes_the_folder(split, tmp_path, capsys):
    call_command("split_export", "arena-v1", "--output", str(tmp_path / "out"), "--json")

    told = json.loads(capsys.readouterr().out)
    assert (told["split"], told["items"]) == ("arena-v1", 3)
    assert [file["path"] for file in told["files"]] == FILES


def test_a_requested_export_becomes_a_zip_once(split):
    export = export_request(split=split, format="huggingface")

    done = export_write(export_id=export.pk, now=timezone.now())
    again = export_write(export_id=export.pk, now=timezone.now())

    assert (done.state, done.done, again.state) == ("done", 3, "done")
    with default_storage.open(export_key(export)) as handle, zipfile.ZipFile(BytesIO(handle.read())) as archive:
        assert min(archive.namelist()) == "arena-v1/README.md"
        assert archive.testzip() is None


def test_an_export_that_cannot_be_written_says_why(split):
    clip = Clip.objects.first()
    assert blob_read(clip.sha256)
    default_storage.delete(blob_key(clip.sha256))
    export = export_request(split=split, format="huggingface")

    failed = export_write(export_id=export.pk, now=timezone.now())

    assert failed.state == "failed"
    assert clip.sha256 in failed.error


def test_an_export_that_the_bucket_refuses_says_why(split, monkeypatch):
    export = export_request(split=split, format="csv")
    kept = {sha256: blob_read(sha256) for sha256 in Clip.objects.values_list("sha256", flat=True)}
    bucket = FullBucket()
    for sha256, data in kept.items():
        InMemoryStorage._save(bucket, blob_key(sha256), ContentFile(data))
    monkeypatch.setattr(default_storage, "_wrapped", bucket)
    monkeypatch.setattr(FullBucket, "delete", InMemoryStorage.delete)

    failed = export_write(export_id=export.pk, now=timezone.now())

    assert failed.state == "failed"
    assert "The bucket is full" in failed.error


def test_the_sweep_finishes_an_export_whose_worker_died(split, django_capture_on_commit_callbacks):
    export = export_request(split=split, format="huggingface")
    Export.objects.filter(pk=export.pk).update(state="running", lease_until=timezone.now() - timedelta(seconds=1))

    with django_capture_on_commit_callbacks(execute=True):
        annotation_sweep()

    export.refresh_from_db()
    assert export.state == "done"


def test_the_sweep_leaves_a_running_export_alone(split, django_capture_on_commit_callbacks):
    export = export_request(split=split, format="huggingface")
    Export.objects.filter(pk=export.pk).update(state="running", lease_until=timezone.now() + timedelta(minutes=1))

    with django_capture_on_commit_callbacks(execute=True):
        annotation_sweep()

    export.refresh_from_db()
    assert export.state == "running"


def test_the_sweep_ends_leases_that_are_over():
    found = lease(round_with(), now=timezone.now() - timedelta(hours=1))

    annotation_sweep()

    found.refresh_from_db()
    assert found.state == "expired"


@pytest.mark.parametrize("make", [speecheq_dialogue, emosbench_dialogue, echomind_dialogue])
def test_what_was_exported_comes_in_again_as_it_was(tmp_path, make):
    split = split_of(items=2, make=make)
    split_export(split=split, format="huggingface", output=tmp_path / "out")

    report = corpus_import(corpus=CorpusFactory(), path=tmp_path / "out", format="huggingface")

    assert report.as_dict() == {"created": 2, "skipped": 0, "refused": []}
    there = Dialogue.objects.filter(corpus=split.corpus).order_by("title")
    here = Dialogue.objects.exclude(corpus=split.corpus).order_by("title")
    assert (len(there), len(here)) == (2, 2)
    assert [_told(dialogue) for dialogue in here] == [_told(dialogue) for dialogue in there]


def _told(dialogue):
    fields = ("benchmark", "category", "language", "source", "valence", "title", "scenario", "extras", "template_key")
    lines = [
        (
            (turn.position, turn.role, turn.speaker, turn.speaker_name, turn.gender),
            [(v.label, v.text, v.tone, v.intended_grade, v.clip_id) for v in turn.variants.order_by("pk")],
        )
        for turn in dialogue.turns.all()
    ]
    return [getattr(dialogue, field) for field in fields], lines
