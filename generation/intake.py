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
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
import soundfile
import soxr
from django.db import IntegrityError, transaction

from eqstudio.blobs import blob_put, blob_read, blob_size
from eqstudio.errors import InvalidInput
from eqstudio.prepared import Prepared, row_insert
from generation.domain.acoustics import FLOOR_DB, Measures, measure
from generation.domain.plain_wav import plain_wav
from generation.domain.tags import has_comments, not_a_sound, without_tags
from generation.models import Clip, Rendition

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_BYTES = 64 * 1024 * 1024
MAX_SECONDS = 15 * 60.0
MAX_SAMPLES = 100_000_000
"""Over all channels: a quarter of an hour of stereo at 48 kHz, and some."""
MEMORY_BYTES = 3 * 1024**3
CPU_SECONDS = 60
WALL_SECONDS = 90.0
_CHILD = Path(__file__).with_name("decode_child.py")
_PLAYED_BY_BROWSERS = {
    ("WAV", "PCM_16"),
    ("WAVEX", "PCM_16"),
    ("MP3", "MPEG_LAYER_III"),
    ("FLAC", "PCM_16"),
    ("FLAC", "PCM_24"),
    ("OGG", "VORBIS"),
    ("OGG", "OPUS"),
}
_PLAYED_CHANNELS = 2
_PLAYED_RATES = (8_000, 96_000)
_COPY_RATE = 16_000
_MEDIA_TYPES = {
    "WAV": "audio/wav",
    "WAVEX": "audio/wav",
    "RF64": "audio/wav",
    "W64": "audio/x-w64",
    "AIFF": "audio/aiff",
    "AU": "audio/basic",
    "CAF": "audio/x-caf",
    "FLAC": "audio/flac",
    "MP3": "audio/mpeg",
    "OGG": "audio/ogg",
    "aac": "audio/aac",
    "mov,mp4,m4a,3gp,3g2,mj2": "audio/mp4",
    "matroska,webm": "audio/webm",
}
"""By the format as its decoder calls it; what is not here is kept without a name of its own."""


@dataclass(frozen=True)
class Decoded:
    """The samples of a file (frames by channels, float32) and what the file says of itself."""

    samples: npt.NDArray[np.float32]
    rate: int
    format: str
    subtype: str
    intact: bool
    """Whether the header tells the truth about the length; a piped writer cannot."""


class Taken(NamedTuple):
    """A clip, and what was measured of it."""

    clip: Clip
    measures: Measures


class Incoming(NamedTuple):
    """A clip whose bytes are stored; its row and that of its copy are not, unless the same bytes were there before."""

    clip: Clip
    copy: Rendition | None = None


_BY_BYTES = Prepared[Clip](lambda sha256: Clip.objects.filter(sha256=sha256).order_by())


def clip_ingest(*, data: bytes, name: str = "") -> Clip:
    """Take in one audio file and return its Clip; the same bytes give the same Clip.

    The clip keeps the bytes it came with. Where browsers do not play those, a 16-bit WAV of the same sound is kept beside
    it and is what pages play; where they hold tags, the same bytes without those. Side effects: one or two stored blobs, one Clip row and perhaps one Rendition. Raises
    InvalidInput that names the file and says what is wrong with it; then nothing was stored.
    """
    return clip_keep(clip_prepare(data=data, name=name))


def clip_take(*, data: bytes, name: str = "") -> Taken:
    """As ``clip_ingest``, with everything that was measured."""
    clip = clip_ingest(data=data, name=name)
    return Taken(clip, clip_measures(clip=clip))


def clip_prepare(*, data: bytes, name: str = "") -> Incoming:
    """The first half of ``clip_ingest``, which takes its time: decode, measure and store the bytes, write no row."""
    sha256 = hashlib.sha256(data).hexdigest()
    known = _BY_BYTES.first(sha256=sha256)
    if known is not None:
        return Incoming(known)
    decoded = audio_decode(data=data, name=name)
    measures = measure(decoded.samples, decoded.rate)
    copy = _listened(data, decoded)
    blob_put(data)
    if copy is not None:
        blob_put(copy.data)
    _remember(sha256, measures)
    clip = Clip(
        sha256=sha256,
        media_type=_MEDIA_TYPES.get(decoded.format, "application/octet-stream"),
        size=len(data),
        frames=measures.frames,
        sample_rate=decoded.rate,
        channels=decoded.samples.shape[1],
        duration=measures.duration,
        loudness=measures.loudness,
        rms=measures.level,
        peak=measures.peak,
        pitch=measures.pitch,
        pitch_spread=measures.pitch_spread,
        centroid=measures.centroid,
        pause_share=measures.pause_share,
        peaks=list(measures.peaks),
    )
    return Incoming(clip, None if copy is None else _playable(clip, copy, decoded))


def clip_keep(incoming: Incoming) -> Clip:
    """The second half: the rows, inside a transaction of the caller's if there is one."""
    if incoming.clip.pk is not None:
        return incoming.clip
    try:
        with transaction.atomic():
            row_insert(incoming.clip)
            if incoming.copy is not None:
                incoming.copy.clip = incoming.clip
                row_insert(incoming.copy)
    except IntegrityError:  # somebody else brought in the same bytes in the meantime
        return Clip.objects.get(sha256=incoming.clip.sha256)
    return incoming.clip


def _playable(clip: Clip, copy: Copy, decoded: Decoded) -> Rendition:
    return Rendition(
        kind=Rendition.Kind.PLAYABLE,
        sha256=hashlib.sha256(copy.data).hexdigest(),
        media_type=copy.media_type,
        size=len(copy.data),
        frames=copy.frames,
        sample_rate=copy.rate,
        channels=copy.channels,
        duration=copy.frames / copy.rate,
        loudness=clip.loudness,
        peak=clip.peak,
        parameters={"from": f"{decoded.format}/{decoded.subtype}", "to": copy.made},
    )


def clip_measures(*, clip: Clip) -> Measures:
    """A stored clip measured whole, with what its row does not keep (tail, clipping, RMS): as this process measured it a
    moment ago, else decoded again. FileNotFoundError when its bytes are gone, or are not as many as they were.
    """
    if blob_size(clip.sha256) != clip.size:
        raise FileNotFoundError(clip.sha256)
    with _measured_lock:
        known = _measured.get(clip.sha256)
    if known is not None:
        return known
    decoded = audio_decode(data=blob_read(clip.sha256), name=f"clip {clip.uid}")
    measures = measure(decoded.samples, decoded.rate)
    _remember(clip.sha256, measures)
    return measures


MEASURED_KEPT = 512
"""As many as one process is at work on at a time; ten kilobytes each."""
_measured: OrderedDict[str, Measures] = OrderedDict()
_measured_lock = threading.Lock()


def _remember(sha256: str, measures: Measures) -> None:
    with _measured_lock:
        _measured[sha256] = measures
        while len(_measured) > MEASURED_KEPT:
            _measured.popitem(last=False)


def audio_decode(*, data: bytes, name: str = "") -> Decoded:
    """Decode a file, in the child process unless it is a plain WAV, and check what came out. InvalidInput names ``name``
    and the reason.
    """
    label = name or "The audio"
    if not data:
        raise InvalidInput(f"{label}: the file is empty (0 bytes).", field="audio")
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{label}: {len(data)} bytes are more than the {MAX_BYTES} a clip may have.", field="audio")
    hint = not_a_sound(data)
    if hint:
        raise InvalidInput(f"{label}: {hint}.", field="audio")
    decoded = _plain(data) or _strange(data, label)
    samples = decoded.samples
    if not np.isfinite(samples).all():
        raise InvalidInput(f"{label}: some of its samples are not numbers.", field="audio")
    if not samples.any():
        raise InvalidInput(f"{label}: it is silent, every sample is zero.", field="audio")
    if np.abs(samples).max() < 10 ** (FLOOR_DB / 20):
        raise InvalidInput(f"{label}: it is silent, no sample is above {FLOOR_DB:.0f} dBFS.", field="audio")
    return decoded


def _plain(data: bytes) -> Decoded | None:
    found = plain_wav(data, longest_s=MAX_SECONDS)
    if found is None or found.samples.size > MAX_SAMPLES:
        return None
    return Decoded(samples=found.samples, rate=found.rate, format="WAV", subtype="PCM_16", intact=True)


def _strange(data: bytes, label: str) -> Decoded:
    limits = {"max_seconds": MAX_SECONDS, "max_samples": MAX_SAMPLES, "cpu_s": CPU_SECONDS}
    head, body = _decoder.ask(limits, data, label)
    if not head["ok"]:
        raise InvalidInput(f"{label}: {head['reason']}.", field="audio")
    samples = np.frombuffer(body, dtype="<f4").reshape(head["frames"], head["channels"])
    return Decoded(
        samples=samples, rate=head["rate"], format=head["format"], subtype=head["subtype"], intact=not head["streamed"]
    )


def _plays(decoded: Decoded) -> bool:
    lowest, highest = _PLAYED_RATES
    return (
        decoded.intact
        and decoded.samples.shape[1] <= _PLAYED_CHANNELS
        and lowest <= decoded.rate <= highest
        and (decoded.format, decoded.subtype) in _PLAYED_BY_BROWSERS
    )


class Copy(NamedTuple):
    """A 16-bit WAV, or the bytes that came without what was said beside the sound."""

    data: bytes
    frames: int
    rate: int
    channels: int
    media_type: str = "audio/wav"
    made: str = "WAV/PCM_16"


def _listened(data: bytes, decoded: Decoded) -> Copy | None:
    """What is played instead of the bytes that came: where browsers cannot play those, or where they hold tags, which may
    name what a listener is to find out. None where they are fine as they are.
    """
    if not _plays(decoded) or has_comments(data):
        return playable_copy(decoded)
    bare = without_tags(data)
    if bare == data:
        return None
    frames, channels = decoded.samples.shape
    return Copy(bare, frames, decoded.rate, channels, _MEDIA_TYPES[decoded.format], "without tags")


def playable_copy(decoded: Decoded) -> Copy:
    """The same sound as a WAV that every browser plays: one or two channels, at an ordinary rate, not louder than full scale."""
    samples, rate = decoded.samples, decoded.rate
    if samples.shape[1] > _PLAYED_CHANNELS:
        samples = samples.mean(axis=1, keepdims=True)
    lowest, highest = _PLAYED_RATES
    if not lowest <= rate <= highest:
        wanted = _COPY_RATE if rate < lowest else highest // 2
        samples, rate = soxr.resample(samples, rate, wanted), wanted
    if not len(samples):  # a few frames at a very high rate
        samples, rate = decoded.samples[:1, :_PLAYED_CHANNELS], wanted
    buffer = io.BytesIO()
    soundfile.write(buffer, np.clip(samples, -1.0, 1.0), rate, format="WAV", subtype="PCM_16")
    return Copy(data=buffer.getvalue(), frames=len(samples), rate=rate, channels=samples.shape[1])


class _Decoder:
    """A warm child process, one per process of ours, started again when it has died. Calls take turns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._deadline = 0.0
        """When the file at hand is given up, by the monotonic clock; 0 when there is none."""
        self._stalled = False

    def ask(self, request: dict[str, Any], data: bytes, label: str) -> tuple[dict[str, Any], bytes]:
        """Send one file and wait for its samples; a crash or a stall is an InvalidInput about that file."""
        with self._lock:
            process = self._started()
            self._stalled, self._deadline = False, time.monotonic() + WALL_SECONDS
            try:
                return _exchange(process, json.dumps(request).encode(), data)
            except (BrokenPipeError, EOFError) as error:
                code = self._stop()
                if self._stalled or code == -24:  # noqa: PLR2004 -- SIGXCPU, by its number on every Linux
                    raise InvalidInput(f"{label}: decoding took too long and was stopped.", field="audio") from error
                raise InvalidInput(f"The decoder crashed on {label}; the file was refused.", field="audio") from error
            finally:
                self._deadline = 0.0

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
            threading.Thread(target=self._watch, args=(self._process,), name="decoder watchdog", daemon=True).start()
        return self._process

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """Kill ``process`` when it has held one file for too long; one thread for its whole life, not one for every file."""
        while self._process is process:
            if 0 < self._deadline < time.monotonic():
                self._stalled = True
                process.kill()
                return
            time.sleep(min(1.0, WALL_SECONDS / 4))

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
