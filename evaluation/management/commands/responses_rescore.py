"""``responses_rescore N``: read and score stored answers again."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from eqstudio.management.base import StudioCommand
from evaluation.selectors import study_named
from evaluation.services import responses_rescore


class Command(StudioCommand):
    help = "Read and score every stored answer by the present parser and benchmark. Asks nobody again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="name of the study")

    def run(self, **options: Any) -> dict[str, Any]:
        return {"study": options["name"], **responses_rescore(study=study_named(options["name"]))}

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(
            f"{result['scored']} answers scored anew, {result['changed']} of them read differently; "
            f"{result['kept']} already had a score by this version."
        )
