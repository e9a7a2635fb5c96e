"""A study on many dialogues, made in bulk: six lines each, two of which are asked about."""

from __future__ import annotations

from eqstudio.blobs import blob_put
from evaluation.services import study_create
from generation.models import Clip, Corpus, Dialogue, Turn, Variant
from tests.evaluation.factories import split_of
from tests.generation.factories import RATE, wav_bytes

CONTEXT = (
    "{a} and {b} meet in the kitchen after work. {a} has been told today that the project she led for two years is handed to "
    "somebody else, number {n}. {b} does not know yet whether she wants advice or company."
)
CRITICAL = (4, 6)
SOUNDS = 32
SECONDS = 2.0


def exam_seed(items: int, *, audio: bool) -> None:
    """Without ``audio`` there is one short sound behind all lines: it is never read."""
    corpus = Corpus.objects.create(name="exam")
    clips = [_clip(number, SECONDS if audio else 0.1) for number in range(SOUNDS if audio else 1)]
    dialogues = Dialogue.objects.bulk_create(
        Dialogue(
            corpus=corpus,
            benchmark="speecheq",
            category="interpersonal_empathy",
            language="en",
            state="READY",
            title=f"After work, {number}",
            scenario={"title": f"After work, {number}", "context": CONTEXT.format(a="Maya", b="Tom", n=number)},
            valence="negative",
            ordinal=number,
        )
        for number in range(items)
    )
    turns = Turn.objects.bulk_create(
        Turn(
            dialogue=dialogue,
            position=position,
            role="critical" if position in CRITICAL else "context",
            speaker="speaker2" if position % 2 == 0 else "speaker1",
            speaker_name="Tom" if position % 2 == 0 else "Maya",
            gender="female",
            voice="fake-1",
        )
        for dialogue in dialogues
        for position in range(1, 7)
    )
    Variant.objects.bulk_create(
        (
            Variant(
                turn=turn,
                label=label,
                text=f"I thought about what you said on line {turn.position}, and I am not sure what to make of it.",
                tone=label,
                clip=clips[(turn.pk + number) % len(clips)],
            )
            for turn in turns
            for number, label in enumerate(("high", "low") if turn.role == "critical" else ("only",))
        ),
        batch_size=2000,
    )
    study_create(name="exam", split=split_of(dialogues))


def _clip(number: int, seconds: float) -> Clip:
    data = wav_bytes(seconds=seconds, frequency=110.0 + number)
    return Clip.objects.create(
        sha256=blob_put(data),
        media_type="audio/wav",
        size=len(data),
        frames=int(seconds * RATE),
        sample_rate=RATE,
        channels=1,
        duration=seconds,
        loudness=-23.0,
        peak=-10.5,
        pitch=180.0,
        pitch_spread=2.0,
        centroid=900.0,
        pause_share=0.1,
        peaks=[0.3] * 40,
    )
