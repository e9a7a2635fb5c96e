"""A reply that was spoken: its sound is kept as a clip, by hash; its words are the raw answer."""

from __future__ import annotations

import base64
import binascii
import io
from typing import Any

import numpy as np
import soundfile

from eqstudio.errors import StudioError
from generation.intake import clip_ingest

PCM_RATE = 24_000
"""Of samples that come without a header: what the vendors that stream speech send."""


def reply_kept(encoded: str) -> dict[str, Any]:
    """Keep a spoken reply, sent in base64 as a sound file or as bare 16-bit samples; '' keeps nothing. Inserts a Clip.

    Returns what goes into the paradata: ``reply_clip`` (SHA-256) and its seconds, or ``reply_clip_error``: the words of a
    reply count even where its sound cannot be used.
    """
    if not encoded:
        return {}
    try:
        data = base64.b64decode(encoded, validate=True)
        clip = clip_ingest(data=data if _has_header(data) else _wav(data), name="reply.wav")
    except binascii.Error as error:
        return {"reply_clip_error": f"The sound of the reply is not base64: {error}"}
    except StudioError as error:
        return {"reply_clip_error": error.message}
    return {"reply_clip": clip.sha256, "reply_seconds": round(clip.duration, 3)}


def _has_header(data: bytes) -> bool:
    return data[:4] in {b"RIFF", b"OggS", b"fLaC"} or data[:3] == b"ID3" or data[:2] in {b"\xff\xfb", b"\xff\xf3"}


def _wav(samples: bytes) -> bytes:
    buffer = io.BytesIO()
    whole = samples[: len(samples) // 2 * 2]
    soundfile.write(buffer, np.frombuffer(whole, dtype="<i2"), PCM_RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()
