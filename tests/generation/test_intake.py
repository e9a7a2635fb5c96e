"""Audio comes in: what is kept, what is changed, and what is refused with which words."""

from __future__ import annotations

import hashlib
import os
import signal
import struct
from pathlib import Path

import numpy as np
import pytest

from eqstudio.blobs import blob_read
from eqstudio.errors import InvalidInput
from generation import intake
from generation.intake import audio_decode, clip_ingest, clip_measures
from generation.models import Clip
from tests.audio import RATE, encoded, m4a, silence, speechlike, tone, wav

SPEECH = speechlike(seconds=1.5)


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
    "data",
    [
        encoded(SPEECH, subtype="FLOAT"),
        encoded(SPEECH, format="AIFF"),
        m4a(SPEECH),
        m4a(SPEECH, container="webm", codec="libopus", rate=48_000),
    ],
    ids=["float wav", "aiff", "m4a", "webm"],
)
def test_anything_else_becomes_a_wav_once(data):
    first, second = clip_ingest(data=data), clip_ingest(data=data)
    assert (first.pk, first.media_type, blob_read(first.sha256)[:4]) == (second.pk, "audio/wav", b"RIFF")
    assert first.frames == pytest.approx(first.duration * first.sample_rate)


@pytest.mark.django_db
def test_a_piped_wav_is_mended():
    data = bytearray(wav(SPEECH))
    data[4:8] = data[40:44] = struct.pack("<I", 0xFFFFFFFF)
    clip = clip_ingest(data=bytes(data))
    assert (clip.duration, blob_read(clip.sha256)) == (1.5, wav(SPEECH))


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


def test_the_decoder_is_one_warm_child():
    audio_decode(data=wav(SPEECH))
    first = intake._decoder._process.pid
    for _ in range(20):
        audio_decode(data=wav(SPEECH))
    assert intake._decoder._process.pid == first


def test_a_crash_is_told_and_the_next_file_is_read(monkeypatch):
    audio_decode(data=wav(SPEECH))
    dying = intake._decoder._process
    real = intake._exchange

    def crashed(process, head, data):
        os.kill(process.pid, signal.SIGSEGV)
        return real(process, head, data)

    monkeypatch.setattr(intake, "_exchange", crashed)
    assert refusal(wav(SPEECH), "evil.ogg") == "The decoder crashed on evil.ogg; the file was refused."
    monkeypatch.setattr(intake, "_exchange", real)
    assert audio_decode(data=wav(SPEECH)).samples.shape == (24_000, 1)
    assert intake._decoder._process.pid != dying.pid


def test_a_decoder_that_stalls_is_stopped(monkeypatch):
    monkeypatch.setattr(intake, "WALL_SECONDS", 0.3)
    audio_decode(data=wav(SPEECH))
    os.kill(intake._decoder._process.pid, signal.SIGSTOP)
    assert refusal(wav(SPEECH), "slow.wav") == "slow.wav: decoding took too long and was stopped."


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


def test_every_odd_file_gives_a_clip_or_a_reason(shared):
    """Conformance files, fuzzed ones and broken ones: none may hang or crash the decoder."""
    paths = [
        path for path in sorted((shared / "data" / "audio").rglob("*")) if path.is_file() and path.suffix != ".csv"
    ]
    answers = {path.name: _answer(path) for path in paths}
    clips = [name for name, reason in answers.items() if reason is None]
    reasons = {name: reason for name, reason in answers.items() if reason is not None}
    assert (len(clips), len(reasons)) == (112, 61)
    assert [name for name, reason in reasons.items() if name not in reason] == []
    assert [name for name, reason in reasons.items() if "crashed" in reason or "BytesIO" in reason] == []


def _answer(path: Path) -> str | None:
    try:
        decoded = audio_decode(data=path.read_bytes(), name=path.name)
    except InvalidInput as error:
        return error.message
    return None if decoded.samples.any() else "it decoded to silence"
