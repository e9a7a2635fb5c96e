"""Corpora and dialogues for tests, whole: turns, variants and clips whose bytes are real (if tiny) WAV files."""

import io
import itertools
import wave
from random import Random

import factory
import numpy as np

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import BriefSpec
from eqstudio.blobs import blob_put
from generation.domain.lifecycle import DialogueState
from generation.models import Clip, Corpus, Dialogue, Turn, Variant

_serial = itertools.count(1)
RATE = 8_000


class CorpusFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Corpus

    name = factory.Sequence(lambda n: f"corpus-{n}")


class DialogueFactory(factory.django.DjangoModelFactory):
    """A dialogue without turns; ``speecheq_dialogue`` and its sisters build whole ones."""

    class Meta:
        model = Dialogue

    corpus = factory.SubFactory(CorpusFactory)
    benchmark = "speecheq"
    category = "interpersonal_empathy"
    language = "en"
    state = DialogueState.READY.value
    title = factory.Sequence(lambda n: f"Dialogue {n}")


def wav_bytes(*, seconds: float = 0.1, frequency: float = 220.0, amplitude: float = 0.3, rate: int = RATE) -> bytes:
    """A mono 16-bit WAV with one tone."""
    times = np.arange(max(1, int(seconds * rate)))
    samples = 32767 * amplitude * np.sin(2 * np.pi * frequency * times / rate)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as handle:
        handle.setnchannels(1)
        handle.setsampwidth(2)
        handle.setframerate(rate)
        handle.writeframes(samples.astype("<i2").tobytes())
    return buffer.getvalue()


def clip_make(**fields) -> Clip:
    """A stored clip of its own; ``fields`` overrides what would have been measured (loudness, pitch, duration ...)."""
    clip = _clip(**fields)
    clip.save(force_insert=True)
    return clip


def _clip(*, seconds: float = 0.1, **measures) -> Clip:
    """A clip whose bytes are stored, whose row is not yet: rows are cheaper together."""
    data = wav_bytes(seconds=seconds, frequency=110.0 + 0.37 * next(_serial))
    values = {
        "media_type": "audio/wav",
        "size": len(data),
        "frames": int(seconds * RATE),
        "sample_rate": RATE,
        "channels": 1,
        "duration": seconds,
        "loudness": -23.0,
        "peak": -10.5,
        "pitch": 180.0,
        "pitch_spread": 2.0,
        "centroid": 900.0,
        "pause_share": 0.1,
        "peaks": [0.3] * 40,
        **measures,
    }
    return Clip(sha256=blob_put(data), **values)


def turn_make(dialogue, position, role, speaker, variants, *, voiced=True, **fields) -> Turn:
    """A turn with ``variants``: tuples of (label, text) or (label, text, grade)."""
    turn = Turn.objects.create(
        dialogue=dialogue,
        position=position,
        role=role,
        speaker=speaker,
        **{"speaker_name": speaker.title(), "gender": "female", "voice": "fake-1", **fields},
    )
    clips = Clip.objects.bulk_create([_clip() for _ in variants]) if voiced else [None] * len(variants)
    rows = []
    for (label, text, *grade), clip in zip(variants, clips, strict=True):
        intended = grade[0] if grade else None
        rows.append(
            Variant(turn=turn, label=label, text=text, tone=f"tone {label}", intended_grade=intended, clip=clip)
        )
    Variant.objects.bulk_create(rows)
    return turn


def speecheq_dialogue(*, voiced=True, **fields) -> Dialogue:
    """Six lines; the fourth and the sixth exist as high and low with the same words."""
    dialogue = DialogueFactory(
        **{
            "benchmark": "speecheq",
            "category": "interpersonal_empathy",
            "scenario": {"context": "Maya lost her job; Tom meets her in the kitchen.", "title": "After work"},
            "valence": "negative",
            **fields,
        }
    )
    for position in range(1, 7):
        text = f"Line {position} of dialogue {dialogue.pk}."
        critical = position in {4, 6}
        turn_make(
            dialogue,
            position,
            "critical" if critical else "context",
            "speaker2" if position % 2 == 0 else "speaker1",
            [("high", text), ("low", text)] if critical else [("only", text)],
            voiced=voiced,
        )
    return dialogue


def emosbench_dialogue(*, voiced=True, **fields) -> Dialogue:
    """One line and four replies of intended grades 1 to 4."""
    dialogue = DialogueFactory(
        **{
            "benchmark": "emosbench",
            "category": "bap",
            "scenario": {"context": "A caller speaks to a service desk."},
            **fields,
        }
    )
    turn_make(dialogue, 1, "context", "speaker1", [("only", f"Input of dialogue {dialogue.pk}.")], voiced=voiced)
    replies = [(str(grade), f"Reply {grade} of dialogue {dialogue.pk}.", grade) for grade in range(1, 5)]
    turn_make(dialogue, 2, "response", "responder", replies, voiced=voiced)
    return dialogue


def echomind_dialogue(*, voiced=True, **fields) -> Dialogue:
    """One line as target, neutral and alternative delivery, with the questions that the benchmark makes of it."""
    values = {"benchmark": "echomind", "category": "cough", "language": "en", **fields}
    benchmark = benchmark_get("echomind")
    brief = BriefSpec(benchmark.category(values["category"]), values["language"], "negative", "health")
    script = benchmark.script_schema.model_validate(benchmark.script_example(brief, Random(next(_serial))))
    written = benchmark.script_read(script, brief)
    dialogue = DialogueFactory(**{"scenario": written.scenario, "extras": written.extras, **values})
    for turn in written.turns:
        said = [(variant.label, variant.text) for variant in turn.variants]
        turn_make(dialogue, turn.position, turn.role, turn.speaker, said, voiced=voiced)
    return dialogue
