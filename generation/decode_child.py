"""The decoder process: reads audio files that strangers made, under limits, and answers with samples.

It is started by ``generation.intake`` and imports neither Django nor the studio, so that it starts fast and has nothing
to lose. Frames on stdin and stdout: 4 bytes of length, then JSON or bytes. A request is a JSON head and the file; an
answer is a JSON head and, if that says ``ok``, float32 samples.
"""

from __future__ import annotations

import io
import json
import resource
import struct
import sys
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import soundfile

BLOCK_S = 5
DISAGREE_S = 0.05
FORMATS = {"WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC", "MP3", "OGG"}
_STREAMED = 0xFFFF_FF00
LIE_TOLERANCE = 0.05
LIE_FRAMES = 4800
"""An MP3's header may promise a few padded frames more than the decoder gives."""


class Limits(NamedTuple):
    """What a clip may have: few bytes can unpack to any number of samples."""

    seconds: float
    samples: int
    """Over all channels."""


class UnreadableError(Exception):
    """The file is not a clip; the message says why, without naming the file."""


def decode(data: bytes, limits: Limits) -> tuple[dict[str, Any], npt.NDArray[np.float32]]:
    """Read ``data`` with libsndfile, and with FFmpeg's libraries where that does not know the format."""
    lengths = _wav_lengths(data)
    if lengths is not None and 0 < lengths.there < lengths.promised:
        raise UnreadableError(
            f"it is cut off: its header promises {lengths.promised} bytes of sound, but only {lengths.there} are there"
        )
    if data[:4] == b"RIFX":
        raise UnreadableError("it is a big-endian WAV (RIFX), which few programs read; save it as an ordinary WAV")
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as handle:
            head, samples = _read_soundfile(handle, limits)
    except (soundfile.LibsndfileError, _NoFramesError) as error:
        head, samples = _read_av(data, limits, first=_reason(error))
    else:
        head, samples = _second_opinion(data, limits, head, samples)
    streamed = head.get("streamed", False) or (lengths is not None and lengths.streamed)
    return head | {"streamed": streamed}, samples


def _reason(error: Exception) -> str:
    said = str(error.error_string if isinstance(error, soundfile.LibsndfileError) else error).rstrip(". ")
    if said.startswith("File does not exist"):  # what libsndfile says of an MP3 without one whole frame
        return "no frame of sound is in it"
    return said.removeprefix("Error : ").strip()


def _second_opinion(
    data: bytes, limits: Limits, head: dict[str, Any], samples: npt.NDArray[np.float32]
) -> tuple[dict[str, Any], npt.NDArray[np.float32]]:
    """Ask FFmpeg's libraries, which browsers decode with, where the two are known to differ: damaged FLAC and odd MP3.

    Its answer counts; a file it breaks off at is refused, because nobody could listen to it.
    """
    if head["format"] not in {"FLAC", "MP3"}:
        return head, samples
    seconds = len(samples) / head["rate"]
    if head["format"] == "MP3" and _close(mp3_seconds(data), seconds):
        return head, samples
    try:
        import av  # noqa: PLC0415 -- slow import
    except ImportError:
        return head, samples
    try:
        with av.open(io.BytesIO(data)) as container:
            other, again = _read_stream(container, limits)
    except (av.FFmpegError, ValueError) as error:
        raise UnreadableError(
            f"it is broken: one decoder finds {seconds:.2f} s of sound, another breaks off because the file contradicts itself"
        ) from error
    if _close(len(again) / other["rate"], seconds):
        return head, samples
    return head | {"rate": other["rate"], "decoder": "ffmpeg", "streamed": True}, again


def _close(first: float | None, second: float) -> bool:
    return first is not None and abs(first - second) < DISAGREE_S - 0.005


_MP3_KBIT = {
    3: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_MP3_HZ = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}


def mp3_seconds(data: bytes) -> float | None:
    """How long the frames of an MPEG layer III file last by their headers, without the padding that an encoder names.

    None where one frame does not follow the other, or where they change their rate: then it takes a decoder to tell.
    """
    at = 0
    while data[at : at + 3] == b"ID3" and at + 10 <= len(data):
        size = 0
        for byte in data[at + 6 : at + 10]:
            size = size << 7 | byte & 0x7F
        at += 10 + size
    frames = rate = each = 0
    info = data[at : at + 400]
    while at + 4 <= len(data) and data[at : at + 3] != b"TAG":
        first, second = data[at + 1], data[at + 2]
        version, kbit, hertz = first >> 3 & 3, second >> 4, second >> 2 & 3
        if data[at] != 0xFF or first & 0xE6 != 0xE2 or version == 1 or not 0 < kbit < 15 or hertz == 3:  # noqa: PLR2004
            return None
        here = _MP3_HZ[version][hertz]
        if rate not in (0, here):
            return None
        rate, each = here, 1152 if version == 3 else 576  # noqa: PLR2004 -- samples of a frame
        at += each // 8 * _MP3_KBIT[3 if version == 3 else 2][kbit - 1] * 1000 // rate + (second >> 1 & 1)  # noqa: PLR2004
        frames += 1
    if not rate:
        return None
    return (frames * each - _mp3_padding(info, each)) / rate


def _mp3_padding(info: bytes, each: int) -> int:
    """Samples that are not sound: the frame that only informs, and what its encoder put before and after."""
    at = max(info.find(b"Xing"), info.find(b"Info"))
    if at < 0:
        return 0
    flags = int.from_bytes(info[at + 4 : at + 8], "big")
    tag = at + 8 + 4 * (flags & 1) + 4 * (flags >> 1 & 1) + 100 * (flags >> 2 & 1) + 4 * (flags >> 3 & 1)
    spare = info[tag + 21 : tag + 24]
    if info[tag : tag + 4] not in (b"LAME", b"Lavc", b"Lavf") or len(spare) < 3:  # noqa: PLR2004 -- two numbers of 12 bits
        return each
    both = int.from_bytes(spare, "big")
    return each + (both >> 12) + (both & 0xFFF)


class _NoFramesError(Exception):
    """libsndfile found a header and nothing behind it."""


class _WavLengths(NamedTuple):
    promised: int
    there: int
    streamed: bool


def _wav_lengths(data: bytes) -> _WavLengths | None:
    """What the data chunk of a WAV promises and what there is. A writer into a pipe leaves 0 or the largest number."""
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return None
    at = 12
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"data":
            there = len(data) - at - 8
            streamed = size >= _STREAMED or (size == 0 and there > 0)
            return _WavLengths(promised=0 if streamed else size, there=there, streamed=streamed)
        at += 8 + size + size % 2
    return None


def _read_soundfile(handle: soundfile.SoundFile, limits: Limits) -> tuple[dict[str, Any], npt.NDArray[np.float32]]:
    rate, declared = handle.samplerate, handle.frames
    if rate <= 0 or handle.channels <= 0:
        raise UnreadableError("its header names no sample rate or no channel")
    blocks, total, size = [], 0, BLOCK_S * rate
    if handle.format == "MP3" and declared > size:
        # A frame leans on those before it, and between two reads the place is sought anew: what begins there would be lost.
        _within(declared, rate, handle.channels, limits)
        size = declared
    while True:
        block = handle.read(size, dtype="float32", always_2d=True)
        if not len(block):
            break
        total += len(block)
        _within(total, rate, block.shape[1], limits)
        blocks.append(block)
    if not total:
        raise _NoFramesError("it holds no sound: its header is there, but no frame follows")
    if 0 < declared < 2**62 and declared - total > max(LIE_FRAMES, LIE_TOLERANCE * declared):
        raise UnreadableError(
            f"it is cut off: its header promises {declared / rate:.2f} s, but only {total / rate:.2f} s can be decoded"
        )
    head = {"format": handle.format, "subtype": handle.subtype, "rate": rate, "decoder": "libsndfile"}
    if handle.format not in FORMATS:
        raise UnreadableError(f"its format ({handle.format}) is not accepted; use WAV, FLAC, MP3, OGG, M4A or WebM")
    return head, np.concatenate(blocks)


def _within(frames: int, rate: int, channels: int, limits: Limits) -> None:
    if frames > limits.seconds * rate:
        raise UnreadableError(f"it is longer than {limits.seconds / 60:.0f} minutes")
    if frames * channels > limits.samples:
        raise UnreadableError(f"it unpacks to more than {limits.samples} samples")


def _read_av(data: bytes, limits: Limits, *, first: str) -> tuple[dict[str, Any], npt.NDArray[np.float32]]:
    try:
        import av  # noqa: PLC0415 -- only for what libsndfile cannot read
    except ImportError as error:
        raise UnreadableError(
            f"its format is not one this installation reads ({first}; PyAV is not installed)"
        ) from error
    try:
        with av.open(io.BytesIO(data)) as container:
            if not container.streams.audio:
                raise UnreadableError("it holds no audio stream")
            return _read_stream(container, limits)
    except av.FFmpegError as error:
        raise UnreadableError(f"it is not a sound file, or broken ({_why(error, first)})") from error
    except ValueError as error:
        raise UnreadableError(f"it is not a sound file, or broken ({first})") from error


def _why(error: Any, first: str) -> str:
    """What FFmpeg says where it knew the format and stumbled later; else what libsndfile said."""
    said = str(getattr(error, "strerror", "") or "")
    return f"{first}; {said}" if said and "Invalid data" not in said else first


def _read_stream(container: Any, limits: Limits) -> tuple[dict[str, Any], npt.NDArray[np.float32]]:
    stream = container.streams.audio[0]
    blocks: list[npt.NDArray[np.float32]] = []
    rate = total = 0
    for frame in container.decode(stream):
        block = _float_block(frame)
        if rate and (frame.sample_rate != rate or block.shape[1] != blocks[0].shape[1]):
            raise UnreadableError("it changes its sample rate or its channels on the way")
        rate = frame.sample_rate
        total += len(block)
        _within(total, rate, block.shape[1], limits)
        blocks.append(block)
    if not total or not rate:
        raise UnreadableError("it holds no sound that can be decoded")
    # A bare AAC stream has no length of its own: what FFmpeg says is a guess from the first frames.
    declared = 0.0 if container.format.name == "aac" else float(container.duration or 0) / 1e6
    if declared and declared - total / rate > max(0.3, LIE_TOLERANCE * declared):
        raise UnreadableError(
            f"it is cut off: {declared:.2f} s are promised, but only {total / rate:.2f} s can be decoded"
        )
    head = {"format": container.format.name, "subtype": stream.codec_context.name, "rate": rate, "decoder": "ffmpeg"}
    return head, np.concatenate(blocks)


def _float_block(frame: Any) -> npt.NDArray[np.float32]:
    array = frame.to_ndarray()
    if not frame.format.is_planar:
        array = array.reshape(-1, frame.layout.nb_channels).T
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        middle = 0.0 if array.dtype.kind == "i" else (info.max + 1) / 2
        array = (array.astype(np.float64) - middle) / ((info.max + 1) if array.dtype.kind == "i" else middle)
    return np.ascontiguousarray(array.T, dtype=np.float32)


def _receive(source: IO[bytes]) -> bytes | None:
    size = source.read(8)
    return source.read(struct.unpack("<Q", size)[0]) if len(size) == 8 else None  # noqa: PLR2004 -- an unsigned 64-bit length


def _send(target: IO[bytes], *parts: bytes | memoryview) -> None:
    for part in parts:
        target.write(struct.pack("<Q", len(part)))
        target.write(part)
    target.flush()


def _answer(request: dict[str, Any], data: bytes) -> tuple[bytes, bytes | memoryview]:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    allowed = int(spent.ru_utime + spent.ru_stime + request["cpu_s"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.RLIM_INFINITY))
    try:
        head, samples = decode(data, Limits(request["max_seconds"], request["max_samples"]))
    except UnreadableError as error:
        return json.dumps({"ok": False, "reason": str(error)}).encode(), b""
    except MemoryError:
        return json.dumps({"ok": False, "reason": "it needs more memory than a clip may"}).encode(), b""
    head |= {"ok": True, "channels": samples.shape[1], "frames": len(samples)}
    return json.dumps(head).encode(), np.ascontiguousarray(samples, dtype="<f4").data.cast("B")


def main() -> None:
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while (head := _receive(source)) is not None and (data := _receive(source)) is not None:
        _send(target, *_answer(json.loads(head), data))


if __name__ == "__main__":
    main()
