"""How many short clips a second one core takes in, without the transcriber: decode, measure, store, write the row."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from generation import intake
from generation.intake import clip_take
from generation.models import Clip
from tests.audio import encoded, speechlike, wav

CLIPS = 300
SECONDS = 2.0
RATE = 16_000
LEAST_PER_S = 100.0


def spent() -> float:
    """Seconds of processor that this process and its decoder have used."""
    fields = Path(f"/proc/{intake._decoder._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return time.process_time() + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["wav", "mp3"])
def test_short_clips_come_in_quickly(kind, capsys):
    rng = np.random.default_rng(1)
    sounds = [speechlike(seconds=SECONDS, rate=RATE, seed=n, hz=float(rng.uniform(90, 260))) for n in range(CLIPS)]
    files = [wav(sound, rate=RATE) if kind == "wav" else encoded(sound, rate=RATE, format="MP3") for sound in sounds]
    clip_take(data=encoded(speechlike(seconds=1.0, seed=999_999), rate=RATE, format="MP3"))  # the decoder is warm

    started, before = time.perf_counter(), spent()
    for data in files:
        clip_take(data=data)
    used, wall = spent() - before, time.perf_counter() - started

    assert Clip.objects.count() == CLIPS + 1
    with capsys.disabled():
        sys.stdout.write(
            f"\n{kind}, {SECONDS:g} s each: {CLIPS / used:.0f} clips a second of one core ({CLIPS / wall:.0f} by the clock)\n"
        )
    assert used * LEAST_PER_S < CLIPS
