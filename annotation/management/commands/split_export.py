from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.exporters import Options
from annotation.selectors import split_named
from annotation.services import split_export
from eqstudio.management.base import StudioCommand


class Command(StudioCommand):
    help = "Write a split into a new folder."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("split", help="name (its latest version) or name-v2")
        parser.add_argument("--format", default="huggingface")
        parser.add_argument("--output", type=Path, required=True)
        parser.add_argument("--resume", action="store_true", help="go on where an export into this folder was cut off")
        parser.add_argument("--bom", action="store_true", help="begin tables with a byte order mark, for spreadsheets")

    def run(self, **options: Any) -> dict[str, Any]:
        return split_export(
            split=split_named(options["split"]),
            format=options["format"],
            output=options["output"],
            resume=options["resume"],
            options=Options(bom=options["bom"]),
        )

    def report(self, result: dict[str, Any]) -> None:
        size = sum(file["size"] for file in result["files"]) / 1e6
        self.stdout.write(f"{result['split']}: {result['items']} items, {size:.1f} MB in {result['output']}")
