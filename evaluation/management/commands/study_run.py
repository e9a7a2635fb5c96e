"""``study_run N --model ALIAS``: a model sits the exam, here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from eqstudio.management.base import StudioCommand
from evaluation.backends import backends, evaluators
from evaluation.models import Sitting
from evaluation.selectors import outcome_counts, sittings_progress, study_named
from evaluation.services import respondent_drive, study_run


class Command(StudioCommand):
    help = "Let a model sit a study. Interrupted, the same command goes on where it stopped; nothing is asked twice."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="name of the study")
        parser.add_argument("--model", required=True, help=f"known: {', '.join(backends)}")
        parser.add_argument("--evaluator", default="mcq", help=f"how questions are put; known: {', '.join(evaluators)}")
        parser.add_argument("--limit", type=int, default=None, help="ask only the first K items of the order")
        parser.add_argument("--runs", type=int, default=2, help="how often; every second run mirrors the options")

    def run(self, **options: Any) -> dict[str, Any]:
        respondent = study_run(
            study=study_named(options["name"]),
            backend=options["model"],
            evaluator=options["evaluator"],
            limit=options["limit"],
            runs=options["runs"],
        )
        sittings = respondent_drive(respondent=respondent)
        progress = sittings_progress(sittings=sittings)
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
                    "error": sitting.error,
                }
                for sitting in sittings
            ],
        }

    def report(self, result: dict[str, Any]) -> None:
        for sitting in result["sittings"]:
            outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sitting["outcomes"].items()) or "no answers"
            self.stdout.write(f"{result['respondent']}, run {sitting['run'] + 1}: {sitting['state']}, {outcomes}.")
            if sitting["error"]:
                self.stderr.write(sitting["error"])
        if all(sitting["state"] == Sitting.State.FINISHED for sitting in result["sittings"]):
            self.stdout.write(f"Compare with: manage.py compare {result['study']}")
