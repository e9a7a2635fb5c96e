"""Audio comes in: what is kept, what is changed, and what is refused with which words."""

from __future__ import annotations

import csv
import hashlib
import os
import signal
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from eqstudio.blobs import blob_read
from eqstudio.errors import InvalidInput
from generation import intake
from generation.domain.plain_wav import plain_wav
from generation.intake import _plays, audio_decode, clip_ingest, clip_measures, clip_take
from generation.media import clip_served
from generation.models import Clip, Rendition
from tests.audio import RATE, encoded, m4a, silence, speechlike, tone, wav

pytestmark = pytest.mark.sqlite_enough
SPEECH = speechlike(seconds=1.5)
STRANGE = encoded(SPEECH, format="FLAC")
"""What the child process decodes; a plain WAV is read without it."""


def refusal(data: bytes, name: str = "take1.wav") -> str:
    with pytest.raises(InvalidInput) as caught:
        audio_decode(data=data, name=name)
    return caught.value.message


@pytest.mark.django_db
def test_a_wav_keeps_its_bytes_and_is_measured():
    data = wav(SPEECH)
    clip = clip_ingest(data=data, name="take1.wav")
    assert (clip.sha256, clip.media_type, clip.size) == (hashlib.sha256(data).hexdigest(), "audio/wav", len(data))
    assert (clip.frames, clip.sample_rate, clip.channels, clip.duration) == (24_000, RATE, 1, 1.5)
    assert blob_read(clip.sha256) == data
    assert 130 < clip.pitch < 170
    assert len(clip.peaks) == 400


@pytest.mark.django_db
def test_the_same_bytes_give_the_same_clip():
    data = wav(SPEECH)
    assert clip_ingest(data=data).pk == clip_ingest(data=data, name="again").pk
    assert Clip.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (encoded(SPEECH, format="MP3"), "audio/mpeg"),
        (encoded(SPEECH, format="FLAC"), "audio/flac"),
        (encoded(SPEECH, format="OGG", subtype="VORBIS"), "audio/ogg"),
    ],
    ids=["mp3", "flac", "ogg"],
)
def test_what_browsers_play_is_kept_as_it_is(data, media_type):
    clip = clip_ingest(data=data)
    assert (clip.media_type, blob_read(clip.sha256)) == (media_type, data)
    assert clip.duration == pytest.approx(1.5, abs=0.1)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (encoded(SPEECH, subtype="FLOAT"), "audio/wav"),
        (encoded(SPEECH, subtype="PCM_U8"), "audio/wav"),
        (encoded(SPEECH, subtype="PCM_24"), "audio/wav"),
        (encoded(SPEECH, subtype="PCM_32"), "audio/wav"),
        (encoded(SPEECH, subtype="DOUBLE"), "audio/wav"),
        (encoded(SPEECH, subtype="ALAW"), "audio/wav"),
        (encoded(SPEECH, subtype="ULAW"), "audio/wav"),
        (encoded(SPEECH, subtype="IMA_ADPCM"), "audio/wav"),
        (encoded(SPEECH, subtype="MS_ADPCM"), "audio/wav"),
        (encoded(SPEECH, format="WAVEX", subtype="PCM_24"), "audio/wav"),
        (encoded(SPEECH, format="RF64", subtype="PCM_16"), "audio/wav"),
        (encoded(SPEECH, format="AIFF"), "audio/aiff"),
        (m4a(SPEECH), "audio/mp4"),
        (m4a(SPEECH, container="adts"), "audio/aac"),
        (m4a(SPEECH, container="webm", codec="libopus", rate=48_000), "audio/webm"),
    ],
    ids=[
        "float",
        "8 bit",
        "24 bit",
        "32 bit",
        "double",
        "a-law",
        "mu-law",
        "ima adpcm",
        "ms adpcm",
        "extensible",
        "rf64",
        "aiff",
        "m4a",
        "aac",
        "webm",
    ],
)
def test_anything_else_keeps_its_bytes_and_gets_a_playable_copy_once(data, media_type):
    first, second = clip_ingest(data=data), clip_ingest(data=data)
    copy = Rendition.objects.get()
    assert (first.pk, first.media_type, blob_read(first.sha256)) == (second.pk, media_type, data)
    assert first.sha256 == hashlib.sha256(data).hexdigest()
    assert (copy.clip_id, copy.kind, copy.media_type) == (first.pk, "playable", "audio/wav")
    assert copy.duration == pytest.approx(first.duration, abs=0.001)
    served = clip_served(clip=first)
    again = audio_decode(data=blob_read(served.sha256))
    assert (served.sha256, again.format, again.subtype, len(again.samples)) == (
        copy.sha256,
        "WAV",
        "PCM_16",
        copy.frames,
    )


@pytest.mark.django_db
def test_what_plays_has_no_copy_and_is_served_as_it_is():
    clip = clip_ingest(data=wav(SPEECH))
    assert not Rendition.objects.exists()
    assert clip_served(clip=clip) == (clip, clip.sha256, "audio/wav", clip.size)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("samples", "rate", "copied"),
    [
        (np.repeat(SPEECH[:, None], 6, axis=1), RATE, (1, RATE, 24_000)),
        (SPEECH, 4_000, (1, 16_000, 96_000)),
        (SPEECH, 192_000, (1, 48_000, 6_000)),
    ],
    ids=["six channels", "a very low rate", "a very high rate"],
)
def test_a_copy_has_channels_and_a_rate_that_browsers_know(samples, rate, copied):
    clip = clip_ingest(data=wav(samples, rate=rate))
    copy = Rendition.objects.get(clip=clip)
    assert (copy.channels, copy.sample_rate, copy.frames) == copied
    assert copy.duration == pytest.approx(clip.duration)


@pytest.mark.django_db
def test_a_piped_wav_is_kept_and_its_copy_is_mended():
    data = bytearray(wav(SPEECH))
    data[4:8] = data[40:44] = struct.pack("<I", 0xFFFFFFFF)
    clip = clip_ingest(data=bytes(data))
    assert (clip.duration, blob_read(clip.sha256)) == (1.5, bytes(data))
    assert blob_read(Rendition.objects.get(clip=clip).sha256) == wav(SPEECH)


@pytest.mark.django_db
def test_what_was_taken_in_comes_with_all_its_measures_also_the_second_time():
    first, second = clip_take(data=wav(SPEECH)), clip_take(data=wav(SPEECH))
    assert first == second
    assert first.measures.tail_db < -60


@pytest.mark.django_db
def test_measures_of_a_stored_clip_hold_what_its_row_does_not():
    clip = clip_ingest(data=wav(SPEECH))
    measures = clip_measures(clip=clip)
    assert (measures.frames, measures.peaks) == (clip.frames, tuple(clip.peaks))
    assert measures.tail_db < -60


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "take1.wav: the file is empty (0 bytes)."),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>404</html>", "web page"),
        (b"\x00\x01\x02random bytes" * 50, "not a sound file"),
        (wav(silence()), "silent"),
        (wav(SPEECH)[:20_000], "cut off: its header promises 48000 bytes of sound, but only 19956 are there"),
        (wav(SPEECH)[:44], "no sound"),
        (encoded(np.where(np.arange(SPEECH.size) == 5, np.nan, SPEECH), subtype="FLOAT"), "not numbers"),
        (encoded(SPEECH, format="FLAC")[:6_000], "take1.wav: it"),
        (encoded(speechlike(seconds=8), format="MP3")[:9_000], "cut off"),
        (b"ID3\x04\x00\x00\x00\x00\x00\x00", "take1.wav: it"),
    ],
    ids=["empty", "lfs", "html", "random", "silent", "cut", "header only", "nan", "cut flac", "cut mp3", "only a tag"],
)
def test_a_bad_file_is_refused_in_words(data, words):
    assert words in refusal(data)


@pytest.mark.django_db
def test_a_refused_file_leaves_nothing_behind(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    with pytest.raises(InvalidInput):
        clip_ingest(data=wav(SPEECH)[:20_000], name="cut.wav")
    assert (Clip.objects.count(), list(tmp_path.rglob("*"))) == (0, [])


def test_a_file_that_is_too_large_is_refused_unread(monkeypatch):
    monkeypatch.setattr(intake, "MAX_BYTES", 1000)
    assert "more than the 1000" in refusal(wav(SPEECH))


def test_a_clip_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(intake, "MAX_SECONDS", 60.0)
    assert "longer than 1 minutes" in refusal(wav(tone(seconds=61)))


def test_a_file_that_unpacks_to_far_more_than_it_is_is_refused(monkeypatch):
    monkeypatch.setattr(intake, "MAX_SAMPLES", 1_000_000)
    flac = encoded(np.full((48_000 * 5, 8), 0.25, dtype=np.float32), rate=48_000, format="FLAC")
    assert len(flac) < 50_000
    assert refusal(flac, "bomb.flac") == "bomb.flac: it unpacks to more than 1000000 samples."


def test_a_big_endian_wav_is_refused_by_name():
    assert "big-endian WAV (RIFX)" in refusal(encoded(SPEECH, subtype="PCM_16", endian="BIG"))


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100])
def test_a_plain_wav_is_read_as_the_decoder_reads_it(monkeypatch, channels, rate):
    data = encoded(np.repeat(SPEECH[:, None], channels, axis=1), rate=rate, subtype="PCM_16")
    plain = audio_decode(data=data)
    monkeypatch.setattr(intake, "plain_wav", lambda _data, longest_s: None)
    decoded = audio_decode(data=data)
    assert np.array_equal(plain.samples, decoded.samples)
    assert plain.samples.dtype == decoded.samples.dtype == np.float32
    assert (plain.rate, plain.format, plain.subtype, plain.intact) == (rate, "WAV", "PCM_16", True)
    assert (decoded.rate, decoded.format, decoded.subtype, decoded.intact) == (rate, "WAV", "PCM_16", True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        wav(SPEECH)[:44],
        wav(SPEECH)[:-1],
        wav(SPEECH) + b"\0",
        wav(SPEECH)[:24] + bytes(4) + wav(SPEECH)[28:],
        wav(SPEECH)[:22] + b"\3" + wav(SPEECH)[23:],
        encoded(SPEECH, subtype="PCM_24"),
        encoded(SPEECH, subtype="FLOAT"),
        STRANGE,
    ],
    ids=["empty", "no-sound", "cut-off", "more", "no-rate", "channels", "24-bit", "float", "flac"],
)
def test_what_is_no_plain_wav_is_left_to_the_decoder(data):
    assert plain_wav(data, longest_s=60.0) is None


def test_a_plain_wav_that_is_too_long_is_left_to_the_decoder():
    assert plain_wav(wav(SPEECH), longest_s=1.0) is None


def test_the_decoder_is_one_warm_child():
    audio_decode(data=STRANGE)
    first = intake._decoder._process.pid
    for _ in range(20):
        audio_decode(data=STRANGE)
    assert intake._decoder._process.pid == first


def test_a_crash_is_told_and_the_next_file_is_read(monkeypatch):
    audio_decode(data=STRANGE)
    dying = intake._decoder._process
    real = intake._exchange

    def crashed(process, head, data):
        os.kill(process.pid, signal.SIGSEGV)
        return real(process, head, data)

    monkeypatch.setattr(intake, "_exchange", crashed)
    assert refusal(STRANGE, "evil.ogg") == "The decoder crashed on evil.ogg; the file was refused."
    monkeypatch.setattr(intake, "_exchange", real)
    assert audio_decode(data=STRANGE).samples.shape == (24_000, 1)
    assert intake._decoder._process.pid != dying.pid


def test_a_decoder_that_stalls_is_stopped(monkeypatch):
    monkeypatch.setattr(intake, "WALL_SECONDS", 0.3)
    audio_decode(data=STRANGE)
    os.kill(intake._decoder._process.pid, signal.SIGSTOP)
    assert refusal(STRANGE, "slow.flac") == "slow.flac: decoding took too long and was stopped."


def test_a_file_that_needs_too_much_memory_is_refused_not_fatal(monkeypatch):
    intake._decoder.close()
    monkeypatch.setattr(intake, "MEMORY_BYTES", 200 * 1024 * 1024)
    flac = encoded(np.repeat(tone(seconds=240, rate=48_000)[:, None], 2, axis=1), rate=48_000, format="FLAC")
    message = refusal(flac, "huge.flac")
    intake._decoder.close()
    assert "memory" in message or "crashed" in message


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_channels_are_kept(channels):
    samples = np.repeat(SPEECH[:, None], channels, axis=1)
    assert audio_decode(data=wav(samples)).samples.shape == (24_000, channels)


@pytest.mark.django_db
def test_every_odd_file_gives_a_playable_clip_of_the_right_length_or_a_reason(shared):
    """Conformance files, fuzzed ones and broken ones, against what was decoded elsewhere; none hangs or crashes anything."""
    folder = shared / "data" / "audio"
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    started = time.monotonic()
    clips, reasons, wrong = 0, {}, {}
    for row in rows:
        path = folder / row["file"]
        try:
            clip = clip_ingest(data=path.read_bytes(), name=path.name)
        except InvalidInput as error:
            reasons[path.name] = error.message
            continue
        clips += 1
        played = audio_decode(data=blob_read(clip_served(clip=clip).sha256), name=path.name)
        lengths = {len(played.samples) / played.rate, clip.duration}
        expected = int(row["decoded_16k_samples"]) / 16_000
        if any(abs(length - expected) > 0.05 for length in lengths) or not played.samples.any() or not _plays(played):
            wrong[path.name] = (lengths, expected)
    assert wrong == {}
    assert (clips, len(reasons), len(rows)) == (106, 67, 173)
    assert [
        name for name, reason in reasons.items() if not reason.startswith(f"{name}: it") and "0 bytes" not in reason
    ] == []
    assert [
        name for name, reason in reasons.items() if "crashed" in reason or "BytesIO" in reason or "pipe" in reason
    ] == []
    assert time.monotonic() - started < 120
    unharmed = [row["file"] for row in rows if row["ffmpeg_decode"] == "ok" and row["category"].startswith("speech")]
    refused = [reasons[Path(name).name] for name in unharmed if Path(name).name in reasons]
    assert refused == []
