"""What a sound file says beside its sound: titles, artists, comments, pictures. A listener gets the sound alone.

Formats: ID3v2 (id3.org, 2.4.0 structure), ID3v1 (128 bytes at the end), APEv2; RIFF chunks; FLAC metadata blocks (RFC 9639).
"""

from __future__ import annotations

import struct

SOUND_CHUNKS = frozenset({b"fmt ", b"fact", b"data"})
"""Of a WAV: how the samples are written, how many there are, and they themselves."""
_ID3_HEAD, _ID3V1, _APE_FOOT = 10, 128, 32
_FLAC_KEPT = frozenset({0, 3})
"""Stream information, and the table by which a player jumps."""
_FLAC_LAST = 0x80


def without_tags(data: bytes) -> bytes:
    """The same sound with nothing said beside it; ``data`` itself where there is nothing, or it is no format known here."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return _wav(data)
    if data[:4] == b"fLaC":
        return _flac(data)
    if data[:3] == b"ID3" or data[:1] == b"\xff":
        return _mp3(data)
    return data


def has_comments(data: bytes) -> bool:
    """Whether an Ogg stream carries comments beside the name of the program that made it. Its pages have check sums, so
    nothing is cut out of it.
    """
    if data[:4] != b"OggS":
        return False
    for mark in (b"\x03vorbis", b"OpusTags"):
        at = data.find(mark, 0, 4096)
        if at >= 0:
            at += len(mark)
            (vendor,) = struct.unpack_from("<I", data, at)
            (comments,) = struct.unpack_from("<I", data.ljust(at + 8 + vendor, b"\0"), at + 4 + vendor)
            return bool(comments)
    return False


def not_a_sound(data: bytes) -> str | None:
    """What came in the place of a sound, where that is known by its first words."""
    start = data[:512].lstrip().lower()
    if start.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer, not the sound itself; fetch the file with `git lfs pull`"
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "it is a web page, not a sound; the download has probably failed"
    return None


def _wav(data: bytes) -> bytes:
    kept, at, found = [], 12, False
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        end = min(len(data), at + 8 + size + size % 2)
        if name in SOUND_CHUNKS:
            kept.append(data[at:end])
        else:
            found = True
        at = end
    if not found:
        return data
    body = b"WAVE" + b"".join(kept)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _flac(data: bytes) -> bytes:
    blocks, at, last = [], 4, False
    while not last and at + 4 <= len(data):
        kind, last = data[at] & ~_FLAC_LAST, bool(data[at] & _FLAC_LAST)
        end = at + 4 + int.from_bytes(data[at + 1 : at + 4], "big")
        blocks.append((kind, data[at + 1 : end]))
        at = end
    kept = [(kind, body) for kind, body in blocks if kind in _FLAC_KEPT]
    if len(kept) == len(blocks) or not kept:
        return data
    heads = [kind | (_FLAC_LAST if number == len(kept) else 0) for number, (kind, _body) in enumerate(kept, start=1)]
    return b"fLaC" + b"".join(bytes([head]) + body for head, (_kind, body) in zip(heads, kept, strict=True)) + data[at:]


def _mp3(data: bytes) -> bytes:
    first, end = 0, len(data)
    while data[first : first + 3] == b"ID3" and first + _ID3_HEAD <= end:
        size = 0
        for byte in data[first + 6 : first + _ID3_HEAD]:
            size = size << 7 | byte & 0x7F
        footer = _ID3_HEAD if data[first + 5] & 0x10 else 0
        first += _ID3_HEAD + size + footer
    if data[end - _ID3V1 : end - _ID3V1 + 3] == b"TAG":
        end -= _ID3V1
    if data[end - _APE_FOOT : end - _APE_FOOT + 8] == b"APETAGEX":
        size = int.from_bytes(data[end - 20 : end - 16], "little")
        head = _APE_FOOT if data[end - 9] & 0x80 else 0
        end -= size + head
    return data[first:end] if 0 <= first < end <= len(data) else data
