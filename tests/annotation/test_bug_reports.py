"""Bug reports of other tools, run with the input that each of them names. The rest of them: ``test_pains``."""

import csv
import hashlib
import io
import json
import threading
import zipfile
from itertools import groupby

import numpy as np
import pytest
import soundfile
import soxr
from django.core.files.storage import default_storage
from django.db import connection
from django.utils import timezone

from annotation.models import Export
from annotation.services import export_request, split_export, split_freeze
from annotation.services.export_jobs import export_key, export_write
from generation.intake import clip_ingest
from generation.models import Clip, Dialogue
from generation.services import corpus_import
from tests.annotation.factories import split_of
from tests.audio import tone
from tests.generation.factories import CorpusFactory, wav_bytes


def mp3(samples, rate, **options):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format="MP3", subtype="MPEG_LAYER_III", **options)
    return buffer.getvalue()


@pytest.mark.django_db
def test_clicks_in_a_long_stereo_mp3_of_varying_rate_are_drawn_where_they_are_heard():
    """B01: picture and sound drift apart."""
    rate, seconds = 44_100, 120
    at = np.arange(seconds * rate) / rate
    clicks = np.where(at % 10 < 0.005, 0.9, 0.0)
    data = mp3(np.stack([clicks, clicks], axis=1), rate, bitrate_mode="VARIABLE", compression_level=0.4)

    clip = clip_ingest(data=data, name="clicks_vbr.mp3")

    width = clip.duration / len(clip.peaks)
    loud = [((place + 0.5) * width, peak) for place, peak in enumerate(clip.peaks) if peak > 0.3]
    found = [max(group, key=lambda pair: pair[1])[0] for _ten, group in groupby(loud, lambda pair: round(pair[0] / 10))]
    assert clip.duration == pytest.approx(seconds, abs=0.05)
    assert found == pytest.approx([10.0 * n for n in range(12)], abs=0.03)


@pytest.mark.django_db
def test_a_recording_of_a_browser_without_a_duration_gets_the_decoded_one(shared):
    """B03: the duration becomes infinite."""
    path = shared / "data" / "audio" / "derived" / "jfk_live_noduration.webm"

    clip = clip_ingest(data=path.read_bytes(), name=path.name)

    assert clip.duration == pytest.approx(11.0, abs=0.05)
    assert json.loads(json.dumps({"duration": clip.duration}, allow_nan=False))["duration"] > 0


def imported(folder, **defaults):
    given = {"category": "happy", "benchmark": "echomind", "language": "en", **defaults}
    return corpus_import(corpus=CorpusFactory(), path=folder, format="audio", defaults=given)


def tabled(folder, rows, columns=("audio", "text", "category")):
    with (folder / "metadata.csv").open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([columns, *rows])


@pytest.mark.django_db
@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_mp3_of_different_rates_leave_as_they_are_and_keep_length_and_pitch_in_either_order(tmp_path, order):
    """B07: the rate of the first file is taken for all."""
    source = tmp_path / "in"
    source.mkdir()
    for name, rate in (("a", 32_000), ("b", 16_000)):
        (source / f"{name}.mp3").write_bytes(mp3(tone(440, rate=rate), rate))
    tabled(source, [(f"{name}.mp3", "A tone.", "happy") for name in order])
    assert imported(source).created == 2
    Dialogue.objects.update(state="kept")
    split = split_freeze(name="tones", corpus=Dialogue.objects.first().corpus, now=timezone.now())

    split_export(split=split, format="jsonl", output=tmp_path / "out")

    sent = {path.read_bytes() for path in (tmp_path / "out").rglob("*.mp3")}
    assert sent == {path.read_bytes() for path in source.glob("*.mp3")}
    for data in sent:
        samples, rate = soundfile.read(io.BytesIO(data))
        heard = soxr.resample(samples, rate, 48_000)
        strongest = np.abs(np.fft.rfft(heard * np.hanning(heard.size))).argmax() * 48_000 / heard.size
        assert heard.size == pytest.approx(48_000, abs=4_800)
        assert strongest == pytest.approx(440, abs=2)
    assert sorted(Clip.objects.values_list("sample_rate", flat=True)) == [16_000, 32_000]


@pytest.mark.django_db
def test_two_bad_files_of_four_are_named_with_reasons_and_the_others_are_exported(shared, tmp_path):
    """B08: one odd file stops the walk over the whole split."""
    names = ["jfk.flac", "html_error.mp3", "jfk_trunc32b.flac", "jfk.opus"]
    source = tmp_path / "in"
    source.mkdir()
    for name in names:
        (source / name).write_bytes((shared / "data" / "audio" / "derived" / name).read_bytes())
    tabled(source, [(name, "Ask not.", "happy") for name in names])

    report = imported(source)
    Dialogue.objects.update(state="kept")
    split = split_freeze(name="jfk", corpus=Dialogue.objects.first().corpus, now=timezone.now())
    split_export(split=split, format="jsonl", output=tmp_path / "out")

    told = " ".join(refusal.reason for refusal in report.refused)
    assert (report.created, len(report.refused)) == (2, 2)
    assert [name in told for name in names] == [False, True, True, False]
    sent = {hashlib.sha256(path.read_bytes()).hexdigest() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    whole = {hashlib.sha256((source / name).read_bytes()).hexdigest() for name in ("jfk.flac", "jfk.opus")}
    assert sent >= whole


@pytest.mark.django_db
def test_rows_and_files_that_do_not_match_are_all_named(tmp_path):
    """B10: the loader only says that there is no data."""
    for number, name in enumerate(("clip1.wav", "clip2.wav")):
        (tmp_path / name).write_bytes(wav_bytes(seconds=0.4, frequency=200 + 50 * number))
    (tmp_path / "metadata.csv").write_text("file_name,grade\nClip1.wav,3\nclip2.mp4,4\n", encoding="utf-8")

    report = imported(tmp_path)

    told = [refusal.reason for refusal in report.refused]
    assert report.created == 0
    assert [any(name in reason for reason in told) for name in ("Clip1.wav", "clip2.mp4")] == [True, True]
    assert any("clip1.wav" in reason and "clip2.wav" in reason for reason in told)


def _exported() -> set[str]:
    return set(default_storage.listdir("exports")[1]) if default_storage.exists("exports") else set()


@pytest.mark.django_db(transaction=True)
def test_an_export_that_the_broker_hands_out_again_is_written_once():
    """B28: a task that is due after the broker's patience is over runs once for every copy of it."""
    export = export_request(split=split_of(items=2), format="jsonl")
    before = _exported()
    copies = 3
    start = threading.Barrier(copies)
    states = []

    def copy():
        try:
            start.wait(timeout=30)
            states.append(export_write(export_id=export.pk, now=timezone.now()).state)
        finally:
            connection.close()

    workers = [threading.Thread(target=copy) for _ in range(copies)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    late = export_write(export_id=export.pk, now=timezone.now())

    assert len(states) == copies
    assert (late.state, Export.objects.get().done) == ("done", 2)
    assert _exported() - before == {export_key(export).rpartition("/")[2]}
    with default_storage.open(export_key(export)) as handle, zipfile.ZipFile(io.BytesIO(handle.read())) as archive:
        assert archive.testzip() is None
