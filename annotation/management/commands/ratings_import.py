from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.domain.ratings_file import DUPLICATES
from annotation.services import ratings_import
from eqstudio.management.base import StudioCommand


class Command(StudioCommand):
    help = (
        "Import judgements made elsewhere: CSV, TSV or JSON lines (also gzipped) with the columns item, rater, value and, "
        "optionally, dimension and level."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("csv", type=Path, metavar="FILE")
        parser.add_argument("--round", required=True, help="name of the round; it is made when there is none")

        parser.add_argument("--encoding", default="", help="of a file without a byte order mark; UTF-8 if not said")
        parser.add_argument(
            "--duplicates",
            choices=DUPLICATES,
            default="error",
            help="several values of a rater for an item: refuse the later (error), keep the first, the last, or their mean",
        )
        parser.add_argument("--machine", action="append", default=[], help="a rater that is no person; may be repeated")

    def run(self, **options: Any) -> dict[str, Any]:
        return ratings_import(
            path=options["csv"],
            round=options["round"],
            encoding=options["encoding"],
            duplicates=options["duplicates"],
            machines=options["machine"],
        )

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(
            f"Round {result['round']}: {result['created']} ratings stored, {result['skipped']} there already."
        )
        if result["elsewhere"]["items"]:
            rows = ", ".join(map(str, result["elsewhere"]["rows"]))
            self.stdout.write(
                f"  {result['elsewhere']['items']} items are not in this round (rows {rows}); they are kept."
            )
        for refusal in result["refused"]:
            self.stdout.write(f"  row {refusal['row']} refused: {refusal['reason']}")
