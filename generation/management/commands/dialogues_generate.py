"""Run the pipeline: from a benchmark to dialogues that can be heard."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.errors import InvalidInput
from eqstudio.management.base import StudioCommand
from generation.models import Dialogue
from generation.providers import text_providers, transcribers, voice_providers
from generation.services import (
    BriefInput,
    batch_top_up,
    briefs_wanted,
    corpus_ensure,
    dialogues_of,
    dialogues_run,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser

MOST_PER_CATEGORY = 10_000


class Command(StudioCommand):
    help = (
        "Write, speak and check dialogues in this process. Stop it whenever you like: the same command goes on where it "
        "stopped, and adds nothing once all is there."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--benchmark", required=True, help=f"one of: {', '.join(benchmarks)}")
        parser.add_argument("--per-category", type=int, required=True, help="how many dialogues of each category")
        parser.add_argument("--category", action="append", default=[], help="only this category; may be given again")
        parser.add_argument("--language", default="en", help="en or zh")
        parser.add_argument("--text", default="local", help=f"who writes: {', '.join(text_providers)}")
        parser.add_argument("--voice", default="local", help=f"who speaks: {', '.join(voice_providers)}")
        parser.add_argument("--transcriber", default="local", help=f"who listens: {', '.join(transcribers)}")
        parser.add_argument("--name", default="", help="the corpus; the benchmark's name if not given")
        parser.add_argument("--seed", type=int, default=0, help="another seed makes other dialogues")

    def handle(self, *args: Any, **options: Any) -> None:
        self.shows_progress = not options["json"]
        super().handle(*args, **options)

    def run(self, **options: Any) -> dict[str, Any]:
        if not 1 <= options["per_category"] <= MOST_PER_CATEGORY:
            raise InvalidInput(
                f"--per-category must be at least 1 and at most {MOST_PER_CATEGORY}.", field="per_category"
            )
        benchmark_get(options["benchmark"])
        like = BriefInput(
            benchmark=options["benchmark"],
            category="",
            language=options["language"],
            count=options["per_category"],
            seed=options["seed"],
            text_provider=options["text"],
            voice_provider=options["voice"],
            transcriber=options["transcriber"],
        )
        wanted = briefs_wanted(like=like, categories=options["category"])
        corpus = corpus_ensure(name=options["name"] or options["benchmark"])
        batch = batch_top_up(corpus=corpus, wanted=wanted)
        ids = dialogues_of(corpus=corpus, wanted=wanted)
        self._work(ids)
        rows = Dialogue.objects.filter(pk__in=ids)
        failed = rows.filter(state="failed").values("uid", "category", "error_cause", "error")
        return {
            "corpus": corpus.name,
            "batch": batch.uid if batch else None,
            "added": sum(brief.count for brief in batch.briefs.all()) if batch else 0,
            "dialogues": len(ids),
            "states": dict(Counter(rows.values_list("state", flat=True))),
            "failed": list(failed),
        }

    def _work(self, ids: list[int]) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), disable=not self.shows_progress) as progress:
            task = progress.add_task("dialogues", total=len(ids))
            dialogues_run(ids=ids, told=lambda _id: progress.advance(task))

    def report(self, result: dict[str, Any]) -> None:
        states = ", ".join(f"{count} {state}" for state, count in sorted(result["states"].items()))
        self.stdout.write(
            f"Corpus {result['corpus']}: {result['dialogues']} dialogues ({states}), {result['added']} of them new."
        )
        for failure in result["failed"]:
            self.stdout.write(f"  {failure['uid']} {failure['category']}: {failure['error_cause']}: {failure['error']}")
