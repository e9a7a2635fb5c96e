"""The one door through which audio comes in: decoded in a child process under limits, measured, stored by content."""

from __future__ import annotations

import atexit
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import soundfile
from django.db import transaction

from eqstudio.blobs import blob_put, blob_read
from eqstudio.errors import InvalidInput
from generation.domain.acoustics import FLOOR_DB, Measures, measure
from generation.models import Clip

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_BYTES = 64 * 1024 * 1024
MAX_SECONDS = 15 * 60.0
MEMORY_BYTES = 3 * 1024**3
CPU_SECONDS = 60
WALL_SECONDS = 90.0
_CHILD = Path(__file__).with_name("decode_child.py")
_PLAYED_BY_BROWSERS = {
    ("WAV", "PCM_16"): "audio/wav",
    ("WAVEX", "PCM_16"): "audio/wav",
    ("MP3", "MPEG_LAYER_III"): "audio/mpeg",
    ("FLAC", "PCM_16"): "audio/flac",
    ("FLAC", "PCM_24"): "audio/flac",
    ("OGG", "VORBIS"): "audio/ogg",
    ("OGG", "OPUS"): "audio/ogg",
}
_PLAYED_CHANNELS = 2


@dataclass(frozen=True)
class Decoded:
    """The samples of a file (frames by channels, float32) and what the file says of itself."""

    samples: npt.NDArray[np.float32]
    rate: int
    format: str
    subtype: str
    intact: bool
    """Whether the header tells the truth about the length; a piped writer cannot."""


def clip_ingest(*, data: bytes, name: str = "") -> Clip:
    """Take in one audio file and return its Clip; the same bytes give the same Clip.

    Files that browsers play keep their bytes; anything else is stored as 16-bit WAV of the same rate and channels.
    Side effects: one stored blob, one Clip row. Raises InvalidInput that names the file and says what is wrong with it;
    then nothing was stored.
    """
    known = Clip.objects.filter(sha256=hashlib.sha256(data).hexdigest()).first()
    if known is not None:
        return known
    decoded = audio_decode(data=data, name=name)
    media_type = _media_type(decoded)
    if media_type is None:
        data, media_type = _as_wav(decoded), "audio/wav"
    measures = measure(decoded.samples, decoded.rate)
    sha256 = blob_put(data)
    with transaction.atomic():
        clip, _created = Clip.objects.get_or_create(
            sha256=sha256,
            defaults={
                "media_type": media_type,
                "size": len(data),
                "frames": measures.frames,
                "sample_rate": decoded.rate,
                "channels": decoded.samples.shape[1],
                "duration": measures.duration,
                "loudness": measures.loudness,
                "peak": measures.peak,
                "pitch": measures.pitch,
                "pitch_spread": measures.pitch_spread,
                "centroid": measures.centroid,
                "pause_share": measures.pause_share,
                "peaks": list(measures.peaks),
            },
        )
    return clip


def clip_measures(*, clip: Clip) -> Measures:
    """Decode a stored clip again and measure it whole, with what its row does not keep (tail, clipping, RMS)."""
    decoded = audio_decode(data=blob_read(clip.sha256), name=f"clip {clip.uid}")
    return measure(decoded.samples, decoded.rate)


def audio_decode(*, data: bytes, name: str = "") -> Decoded:
    """Decode a file in the child process and check what came out. InvalidInput names ``name`` and the reason."""
    label = name or "The audio"
    if not data:
        raise InvalidInput(f"{label}: the file is empty (0 bytes).", field="audio")
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{label}: {len(data)} bytes are more than the {MAX_BYTES} a clip may have.", field="audio")
    hint = _not_audio(data)
    if hint:
        raise InvalidInput(f"{label}: {hint}.", field="audio")
    head, body = _decoder.ask({"max_seconds": MAX_SECONDS, "cpu_s": CPU_SECONDS}, data, label)
    if not head["ok"]:
        raise InvalidInput(f"{label}: {head['reason']}.", field="audio")
    samples = np.frombuffer(body, dtype="<f4").reshape(head["frames"], head["channels"])
    if not np.isfinite(samples).all():
        raise InvalidInput(f"{label}: some of its samples are not numbers.", field="audio")
    if not samples.any():
        raise InvalidInput(f"{label}: it is silent, every sample is zero.", field="audio")
    if np.abs(samples).max() < 10 ** (FLOOR_DB / 20):
        raise InvalidInput(f"{label}: it is silent, no sample is above {FLOOR_DB:.0f} dBFS.", field="audio")
    return Decoded(
        samples=samples, rate=head["rate"], format=head["format"], subtype=head["subtype"], intact=not head["streamed"]
    )


def _not_audio(data: bytes) -> str | None:
    start = data[:512].lstrip().lower()
    if start.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer, not the sound itself; fetch the file with `git lfs pull`"
    if start.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "it is a web page, not a sound; the download has probably failed"
    return None


def _media_type(decoded: Decoded) -> str | None:
    if not decoded.intact or decoded.samples.shape[1] > _PLAYED_CHANNELS:
        return None
    return _PLAYED_BY_BROWSERS.get((decoded.format, decoded.subtype))


def _as_wav(decoded: Decoded) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, decoded.samples, decoded.rate, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


class _Decoder:
    """A warm child process, one per process of ours, started again when it has died. Calls take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def ask(self, request: dict[str, Any], data: bytes, label: str) -> tuple[dict[str, Any], bytes]:
        """Send one file and wait for its samples; a crash or a stall is an InvalidInput about that file."""
        with self._lock:
            process = self._started()
            stalled = threading.Event()
            watchdog = threading.Timer(WALL_SECONDS, _kill, (process, stalled))
            watchdog.daemon = True
            watchdog.start()
            try:
                return _exchange(process, json.dumps(request).encode(), data)
            except (BrokenPipeError, EOFError) as error:
                code = self._stop()
                if stalled.is_set() or code == -24:  # noqa: PLR2004 -- SIGXCPU, by its number on every Linux
                    raise InvalidInput(f"{label}: decoding took too long and was stopped.", field="audio") from error
                raise InvalidInput(f"The decoder crashed on {label}; the file was refused.", field="audio") from error
            finally:
                watchdog.cancel()

    def close(self) -> None:
        """End the child process of this process, if it has one."""
        with self._lock:
            if self._owner == os.getpid():
                self._stop()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            if self._owner == os.getpid():
                self._stop()
            self._owner = os.getpid()
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(_CHILD), str(MEMORY_BYTES)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", ""), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        return self._process

    def _stop(self) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        with process:
            # What is still buffered for a dead reader is dropped with the pipe.
            try:
                process.stdin.close()  # type: ignore[union-attr]
            except BrokenPipeError:
                process.kill()
            if process.poll() is None:
                process.terminate()
            return process.wait(timeout=10)


_decoder = _Decoder()
atexit.register(_decoder.close)


def _kill(process: subprocess.Popen[bytes], stalled: threading.Event) -> None:
    stalled.set()
    process.kill()


def _exchange(process: subprocess.Popen[bytes], head: bytes, data: bytes) -> tuple[dict[str, Any], bytes]:
    source, target = process.stdout, process.stdin
    if source is None or target is None:
        raise EOFError
    for part in (head, data):
        target.write(struct.pack("<Q", len(part)))
        target.write(part)
    target.flush()
    return json.loads(_receive(source)), _receive(source)


def _receive(source: IO[bytes]) -> bytes:
    (size,) = struct.unpack("<Q", _exactly(source, 8))
    return _exactly(source, size)


def _exactly(source: IO[bytes], size: int) -> bytes:
    data = source.read(size)
    if len(data) < size:
        raise EOFError
    return data
