from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.services import ratings_import
from eqstudio.management.base import StudioCommand


class Command(StudioCommand):
    help = "Import judgements made elsewhere: a CSV file with the columns item, rater, value and, optionally, dimension and level."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("csv", type=Path)
        parser.add_argument("--round", required=True, help="name of the round; it is made when there is none")

    def run(self, **options: Any) -> dict[str, Any]:
        return ratings_import(path=options["csv"], round=options["round"])

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(
            f"Round {result['round']}: {result['created']} ratings stored, {result['skipped']} there already."
        )
        for refusal in result["refused"]:
            self.stdout.write(f"  row {refusal['row']} refused: {refusal['reason']}")
