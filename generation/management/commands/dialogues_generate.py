"""Run the pipeline: from a benchmark to dialogues that can be heard."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import QuerySet
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from eqstudio.benchmarks import benchmark_get, benchmarks
from eqstudio.errors import InvalidInput
from eqstudio.management.base import StudioCommand
from generation.domain.thresholds import NAMES
from generation.models import Dialogue
from generation.providers import text_providers, transcribers, voice_providers
from generation.selectors import Spent, batches_open, batches_spent
from generation.services import (
    BriefInput,
    Budget,
    batch_top_up,
    briefs_wanted,
    budget_set,
    corpus_ensure,
    dialogues_of,
    dialogues_run,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser

LOOK_S = 1.0
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
        parser.add_argument(
            "--threshold",
            action="append",
            default=[],
            metavar="NAME=NUMBER",
            help=f"where a quality check fails, if not at the default; one of: {', '.join(NAMES)}",
        )
        parser.add_argument("--seed", type=int, default=0, help="another seed makes other dialogues")
        parser.add_argument("--connections", type=int, default=settings.CONNECTIONS, help="provider calls at once")
        parser.add_argument("--max-calls", type=int, help="stop after so many calls; a higher number goes on")
        parser.add_argument("--max-tokens", type=int, help="stop when so many tokens are used")
        parser.add_argument("--max-cost", type=Decimal, help="stop when so many US dollars are spent")

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
        batch = batch_top_up(corpus=corpus, wanted=wanted, thresholds=_thresholds(options["threshold"]))
        dialogues = dialogues_of(corpus=corpus, wanted=wanted)
        self._limit(dialogues, options)
        self._work(dialogues, options["connections"])
        failed = dialogues.filter(state="failed").values("uid", "category", "error_cause", "error")
        spent = batches_spent(dialogues=dialogues)
        return {
            "corpus": corpus.name,
            "batch": batch.uid if batch else None,
            "added": sum(brief.count for brief in batch.briefs.all()) if batch else 0,
            "dialogues": dialogues.count(),
            "states": spent.states,
            "failed": list(failed),
            "calls": spent.calls,
            "cost": spent.cost,
            "stopped": list(spent.stopped),
        }

    def _limit(self, dialogues: QuerySet[Dialogue], options: dict[str, Any]) -> None:
        """Give the unfinished batches among these the limits that were asked for, if any were."""
        budget = Budget(calls=options["max_calls"], tokens=options["max_tokens"], cost=options["max_cost"])
        if budget != Budget():
            for batch in batches_open(dialogues=dialogues):
                budget_set(batch=batch, budget=budget)

    def _work(self, dialogues: QuerySet[Dialogue], connections: int) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[spent]}"),
        )
        with Progress(*columns, console=Console(stderr=True), disable=not self.shows_progress) as progress:
            task = progress.add_task("dialogues", total=dialogues.count(), spent="")
            looked = 0.0

            def told(_id: int) -> None:
                nonlocal looked
                progress.advance(task)
                if self.shows_progress and time.monotonic() - looked > LOOK_S:
                    looked = time.monotonic()
                    progress.update(task, spent=_in_short(batches_spent(dialogues=dialogues)))

            dialogues_run(ids=dialogues, told=told, connections=connections)

    def report(self, result: dict[str, Any]) -> None:
        states = ", ".join(f"{count} {state}" for state, count in sorted(result["states"].items()))
        self.stdout.write(
            f"Corpus {result['corpus']}: {result['dialogues']} dialogues ({states}), {result['added']} of them new."
        )
        if result["cost"] is not None:
            self.stdout.write(f"  {result['calls']} calls, {result['cost']:.4f} US dollars.")
        for reason in result["stopped"]:
            self.stdout.write(f"  Stopped: {reason} With a higher limit the same command goes on.")
        for failure in result["failed"]:
            self.stdout.write(f"  {failure['uid']} {failure['category']}: {failure['error_cause']}: {failure['error']}")


def _thresholds(given: list[str]) -> dict[str, Any]:
    return {name: number for name, _equals, number in (each.partition("=") for each in given)}


def _in_short(spent: Spent) -> str:
    """Where the dialogues are, and what they cost so far and will have cost in the end."""
    where = " ".join(f"{count} {state}" for state, count in sorted(spent.states.items()))
    cost = (
        f" ${spent.cost:.2f}" + (f" of ${spent.cost_expected:.2f}" if spent.cost_expected else "") if spent.cost else ""
    )
    return f"{where}{cost}"
