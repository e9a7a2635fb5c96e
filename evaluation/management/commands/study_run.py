"""``study_run N --model ALIAS``: a model sits the exam, here and now."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from decimal import Decimal
from typing import Any

from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from eqstudio.errors import StudioError
from eqstudio.management.base import StudioCommand
from evaluation.backends import backends, evaluators
from evaluation.models import Respondent, Sitting
from evaluation.selectors import Progress as Where
from evaluation.selectors import failures_by_cause, outcome_counts, run_pulse, sittings_progress, study_named
from evaluation.services import Limits, failures_retry, respondent_drive, study_run

LOOK_S = 1.0
MINUTE_S = 60


class Command(StudioCommand):
    help = "Let a model sit a study. Interrupted, the same command goes on where it stopped; nothing is asked twice."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="name of the study")
        parser.add_argument("--model", required=True, help=f"known: {', '.join(backends)}")
        parser.add_argument("--evaluator", default="mcq", help=f"how questions are put; known: {', '.join(evaluators)}")
        parser.add_argument("--limit", type=int, default=None, help="ask only the first K items of the order")
        parser.add_argument(
            "--runs",
            type=int,
            default=2,
            help="how often, 2 runs if not given; every second one mirrors the options, so an even number of them",
        )
        parser.add_argument("--concurrency", type=int, help="questions at once; what the backend says if not given")
        parser.add_argument("--budget-calls", type=int, help="stop after so many calls; a higher number goes on")
        parser.add_argument("--budget-tokens", type=int, help="stop when so many tokens are used")
        parser.add_argument("--budget-cost", type=Decimal, help="stop when so many US dollars are spent")
        parser.add_argument(
            "--retry",
            nargs="?",
            const="",
            metavar="CAUSE",
            help="first ask again what failed before, or only what failed by this cause",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        self.shows_progress = not options["json"]
        super().handle(*args, **options)

    def run(self, **options: Any) -> dict[str, Any]:
        respondent = study_run(
            study=study_named(options["name"]),
            backend=options["model"],
            evaluator=options["evaluator"],
            limit=options["limit"],
            runs=options["runs"],
            limits=Limits(
                concurrency=options["concurrency"],
                calls=options["budget_calls"],
                tokens=options["budget_tokens"],
                cost=options["budget_cost"],
            ),
        )
        if options["retry"] is not None:
            for sitting in respondent.sittings.exclude(state=Sitting.State.CANCELLED):
                failures_retry(sitting=sitting, cause=options["retry"] or None)
        sittings = self._work(respondent)
        progress, now = sittings_progress(sittings=sittings), timezone.now()
        pulses = {
            sitting.pk: run_pulse(sitting=sitting, progress=progress[sitting.pk], now=now) for sitting in sittings
        }
        return {
            "study": options["name"],
            "respondent": respondent.name,
            "run_spec": respondent.run_spec.hash if respondent.run_spec else "",
            "sittings": [
                {
                    "uid": sitting.uid,
                    "run": sitting.run,
                    "state": "stopped" if sitting.error else sitting.state,
                    "answers": progress[sitting.pk].answers,
                    "outcomes": outcome_counts(sitting=sitting),
                    "failures": failures_by_cause(sitting=sitting),
                    "calls": pulses[sitting.pk].calls,
                    "tokens": pulses[sitting.pk].tokens,
                    "cost": pulses[sitting.pk].cost,
                    "error": sitting.error,
                }
                for sitting in sittings
            ],
        }

    def failure(self, result: dict[str, Any]) -> str:
        stopped = [sitting for sitting in result["sittings"] if sitting["state"] == "stopped"]
        if not stopped:
            return ""
        return f"{len(stopped)} of {len(result['sittings'])} runs stopped before the end; what was answered is kept."

    def _work(self, respondent: Respondent) -> list[Sitting]:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[pulse]}"),
        )
        with Progress(*columns, console=Console(stderr=True), disable=not self.shows_progress) as bar:
            tasks: dict[int, TaskID] = {}
            looked = 0.0

            def told(sitting: Sitting, _answered: int) -> None:
                nonlocal looked
                if not self.shows_progress or time.monotonic() - looked < LOOK_S:
                    return
                looked = time.monotonic()
                now = Sitting.objects.select_related("respondent__study__split").get(pk=sitting.pk)
                where = sittings_progress(sittings=[now])[now.pk]
                if now.pk not in tasks:
                    tasks[now.pk] = bar.add_task(f"run {now.run + 1}", total=where.total, pulse="")
                bar.update(tasks[now.pk], completed=where.done, pulse=_in_short(now, where))

            try:
                return respondent_drive(respondent=respondent, told=told)
            except KeyboardInterrupt as error:
                raise StudioError(
                    "Interrupted. What was answered is kept; the same command goes on where it stopped."
                ) from error

    def report(self, result: dict[str, Any]) -> None:
        for sitting in result["sittings"]:
            outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sitting["outcomes"].items()) or "no answers"
            spent = f"{sitting['calls']} calls, {sitting['tokens']} tokens"
            if sitting["cost"] is not None:
                spent += f", {sitting['cost']:.4f} dollars"
            self.stdout.write(
                f"{result['respondent']}, run {sitting['run'] + 1}: {sitting['state']}, {outcomes} ({spent})."
            )
            for failure in sitting["failures"]:
                self.stdout.write(f"  {failure['n']} {failure['failure']}: {failure['cause'] or 'no cause given'}")
            if sitting["error"]:
                self.stderr.write(sitting["error"])
        if all(sitting["state"] == Sitting.State.FINISHED for sitting in result["sittings"]):
            self.stdout.write(f"Compare with: manage.py compare {result['study']}")


def _in_short(sitting: Sitting, where: Where) -> str:
    """Rate, time to finish and cost, for the end of the bar."""
    pulse = run_pulse(sitting=sitting, progress=where, now=timezone.now())
    parts = [f"{where.answers} answers"]
    if pulse.rate is not None:
        parts.append(f"{pulse.rate / MINUTE_S:.1f} a second")
    if pulse.seconds_left is not None:
        parts.append(f"{pulse.seconds_left / MINUTE_S:.1f} min left")
    if pulse.cost is not None:
        parts.append(f"{pulse.cost:.2f} $ so far")
    return ", ".join(parts)
