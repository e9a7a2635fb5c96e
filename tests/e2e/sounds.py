"""Sounds that a browser plays, with the peaks that belong to them."""

from __future__ import annotations

import io
import re
import wave

import numpy as np
from playwright.sync_api import Page, expect

from eqstudio.blobs import blob_put
from generation.models import Clip, Variant

RATE = 8_000


def clip_of(seconds: float, pitch: float) -> Clip:
    """A tone that swells and fades."""
    frames = int(seconds * RATE)
    times = np.arange(frames)
    loudness = 0.5 * np.sin(np.pi * times / frames)
    samples = 32767 * loudness * np.sin(2 * np.pi * pitch * times / RATE)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as handle:
        handle.setnchannels(1)
        handle.setsampwidth(2)
        handle.setframerate(RATE)
        handle.writeframes(samples.astype("<i2").tobytes())
    data = buffer.getvalue()
    return Clip.objects.create(
        sha256=blob_put(data),
        media_type="audio/wav",
        size=len(data),
        frames=frames,
        sample_rate=RATE,
        channels=1,
        duration=seconds,
        peak=-6.0,
        peaks=[round(float(loudness[frames * slice_ // 400]), 3) for slice_ in range(400)],
    )


def voice(seconds: float = 1.0) -> None:
    """Give every variant a clip that lasts long enough to be paused in the middle."""
    for number, variant in enumerate(Variant.objects.order_by("pk")):
        variant.clip = clip_of(seconds, 200 + 10.3 * number)
        variant.save(update_fields=["clip"])


def hear_everything(page: Page, scope: str = ".judge-lines") -> None:
    """Play every clip to its end, one after another, as a person does."""
    clips = page.locator(f"{scope} .clip")
    for index in range(clips.count()):
        clips.nth(index).locator(".clip-play").click()
        expect(clips.nth(index)).to_have_class(re.compile("is-heard"))
        expect(clips.nth(index)).not_to_have_class(re.compile("is-playing"))
