"""What a file says beside its sound is kept from a listener, and the sound stays what it was."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
import soundfile

from eqstudio.blobs import blob_read
from generation.domain.tags import has_comments, without_tags
from generation.intake import audio_decode, clip_ingest
from generation.media import clip_served
from tests.audio import encoded, speechlike, wav

SECRET = b"The right answer: high EQ"
SOUND = speechlike(seconds=1)


def _size(number):
    """Seven bits a byte, as ID3 counts."""
    return bytes((number >> shift) & 0x7F for shift in (21, 14, 7, 0))


def id3v2(data):
    frame = b"TIT2" + _size(len(SECRET) + 1) + b"\0\0\x03" + SECRET
    return b"ID3\x04\0\0" + _size(len(frame)) + frame + data


def id3v1(data):
    return data + b"TAG" + SECRET.ljust(125, b"\0")


def ape(data):
    item = struct.pack("<II", len(SECRET), 0) + b"Title\0" + SECRET
    head = struct.pack("<4I", 2000, len(item) + 32, 1, 0xA0000000)
    foot = struct.pack("<4I", 2000, len(item) + 32, 1, 0x80000000)
    return data + b"APETAGEX" + head + bytes(8) + item + b"APETAGEX" + foot + bytes(8)


def riff(data):
    note = b"INFOINAM" + struct.pack("<I", len(SECRET) + 1) + SECRET + b"\0"
    chunk = b"LIST" + struct.pack("<I", len(note)) + note
    whole = data[:12] + chunk + data[12:] + b"id3 " + struct.pack("<I", len(SECRET)) + SECRET + b"\0"
    return b"RIFF" + struct.pack("<I", len(whole) - 8) + whole[8:]


def commented(kind):
    """Written by libsndfile with a title."""
    buffer = io.BytesIO()
    with soundfile.SoundFile(buffer, "w", 16_000, 1, format=kind) as handle:
        handle.title = SECRET.decode()
        handle.write(SOUND)
    return buffer.getvalue()


MP3 = encoded(SOUND, format="MP3")
TAGGED = {
    "mp3 id3v2": id3v2(MP3),
    "mp3 id3v1": id3v1(MP3),
    "mp3 ape": ape(MP3),
    "mp3 all": id3v2(id3v1(ape(MP3))),
    "wav list": riff(wav(SOUND)),
    "flac": commented("FLAC"),
    "ogg": commented("OGG"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("kind", TAGGED)
def test_a_listener_gets_the_sound_without_its_tags_and_the_original_is_kept(kind):
    data = TAGGED[kind]
    assert SECRET in data

    clip = clip_ingest(data=data)
    served = clip_served(clip=clip)

    heard = blob_read(served.sha256)
    assert blob_read(clip.sha256) == data
    assert SECRET not in heard
    assert served.size == len(heard)
    before, after = audio_decode(data=data), audio_decode(data=heard)
    assert before.rate == after.rate
    assert before.samples.shape == after.samples.shape
    assert np.abs(before.samples - after.samples).max() < 1e-4


@pytest.mark.parametrize(
    "data", [wav(SOUND), MP3, b"", b"RIFF", b"fLaC", b"OggS", b"ID3"], ids=lambda data: str(data[:4])
)
def test_what_has_no_tags_stays_as_it_is(data):
    assert without_tags(data) == data
    assert not has_comments(data)


@pytest.mark.django_db
def test_a_file_without_tags_is_served_as_it_came():
    clip = clip_ingest(data=wav(SOUND))

    assert clip_served(clip=clip).sha256 == clip.sha256
