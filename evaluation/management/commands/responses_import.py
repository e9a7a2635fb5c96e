"""``responses_import N PATH --format F --respondent NAME``: answers given elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from eqstudio.management.base import StudioCommand
from evaluation.importers import answer_importers
from evaluation.selectors import study_named
from evaluation.services import responses_import


class Command(StudioCommand):
    help = "Bring answers from a file into a study. Importing a file twice adds nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="name of the study")
        parser.add_argument("path", type=Path)
        parser.add_argument(
            "--format",
            required=True,
            help=f"known: {', '.join(answer_importers)}; csv has the columns item, trial, answer and perhaps run",
        )
        parser.add_argument("--respondent", required=True, help="the name the answers go under")

    def run(self, **options: Any) -> dict[str, Any]:
        return responses_import(
            study=study_named(options["name"]),
            path=options["path"],
            format=options["format"],
            name=options["respondent"],
        )

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(
            f"{result['respondent']}: {result['created']} answers in {result['runs']} runs came in, "
            f"{result['skipped']} were there already, {len(result['refused'])} were refused."
        )
        if result["outside"]:
            self.stdout.write(f"{result['outside']} are about items or recordings that this study does not ask about.")
        if result["reading_differs"]:
            self.stdout.write(
                f"In {result['reading_differs']} answers our own reading differs from the file's verdict, which counts."
            )
        for refusal in result["refused"][:50]:
            self.stderr.write(f"{refusal['path']}, row {refusal['row']}: {refusal['reason']}")
