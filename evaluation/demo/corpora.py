"""The demo corpora: which scripts there are, in which order they are spoken, and which wait for the visitor."""

from __future__ import annotations

from itertools import groupby

from django.db import transaction

from eqstudio.demo_scripts import DemoEntry, demo_catalogue
from evaluation.demo.people import demo_refuse_in_production
from generation.models import Batch, Corpus, Dialogue
from generation.providers import transcribers, voice_providers
from generation.services import BriefInput, batch_create, corpus_ensure

YOUR_TURN = "demo-your-turn"
"""A few dialogues of every benchmark that the demo's own listeners leave to the visitor."""
LICENCE = "Apache-2.0 (written for the studio)"


def corpus_name(benchmark: str) -> str:
    return f"demo-{benchmark}"


def demo_plan(entries: list[DemoEntry]) -> list[tuple[str, DemoEntry]]:
    """Corpus name and script, in the order of speaking: the visitor's first, English before Chinese, short before long."""
    ordered = sorted(entries, key=lambda entry: (entry.language != "en", entry.words, entry.benchmark, entry.ordinal))
    firsts = {(entry.benchmark, entry.language): entry for entry in reversed(ordered)}
    mine = [entry for entry in ordered if entry in firsts.values()]
    rest = sorted((entry for entry in ordered if entry not in mine), key=lambda entry: entry.benchmark != "speecheq")
    return [(YOUR_TURN, entry) for entry in mine] + [(corpus_name(entry.benchmark), entry) for entry in rest]


def demo_corpora_ensure() -> list[Batch]:
    """Ask for every demo dialogue that is not there yet, through the ordinary service. Returns the new batches."""
    demo_refuse_in_production()
    made = []
    for name, group in groupby(demo_plan(demo_catalogue()), key=lambda pair: pair[0]):
        with transaction.atomic():
            corpus = corpus_ensure(name=name, is_demo=True)
            missing = [entry for _name, entry in group if not _there(corpus, entry)]
            if missing:
                made.append(batch_create(corpus=corpus, briefs=[_brief(entry) for entry in missing]))
    return made


def demo_parts_missing() -> list[str]:
    """What keeps the demo from being spoken here, in sentences; empty when everything is installed."""
    checks = (voice_providers.get("local")().check(), transcribers.get("local")().check())
    return [check.message for check in checks if not check.ok]


def _there(corpus: Corpus, entry: DemoEntry) -> bool:
    return Dialogue.objects.filter(
        corpus=corpus,
        benchmark=entry.benchmark,
        category=entry.category,
        language=entry.language,
        ordinal=entry.ordinal,
    ).exists()


def _brief(entry: DemoEntry) -> BriefInput:
    return BriefInput(
        benchmark=entry.benchmark,
        category=entry.category,
        language=entry.language,
        first=entry.ordinal,
        text_provider="demo",
        voice_provider="local",
        transcriber="local",
    )
