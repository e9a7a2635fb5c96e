"""Bring dialogues in from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqstudio.management.base import StudioCommand
from generation.importers import importers
from generation.services import corpus_ensure, corpus_import, import_check

if TYPE_CHECKING:
    from argparse import ArgumentParser

DEFAULTS = ("benchmark", "category", "language", "speaker", "consent", "licence")


class Command(StudioCommand):
    help = (
        "Import dialogues into a corpus. What is there already is skipped; what is broken is refused with its reason."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("path", type=Path, help="the folder that holds the dialogues, or the one file")
        parser.add_argument("--format", required=True, help=f"how they are laid out: {', '.join(importers)}")
        parser.add_argument("--name", required=True, help="the corpus; made if there is none of this name")
        for name in DEFAULTS:
            parser.add_argument(f"--{name}", default="", help=f"{name} of every row that does not say it")

    def run(self, **options: Any) -> dict[str, Any]:
        import_check(path=options["path"], format=options["format"])
        corpus = corpus_ensure(name=options["name"])
        defaults = {name: options[name] for name in DEFAULTS}
        return corpus_import(corpus=corpus, path=options["path"], format=options["format"], defaults=defaults).as_dict()

    def report(self, result: dict[str, Any]) -> None:
        refused = result["refused"]
        self.stdout.write(f"Created {result['created']}, skipped {result['skipped']}, refused {len(refused)}.")
        for refusal in refused:
            row = f" ({refusal['row']})" if refusal["row"] else ""
            self.stdout.write(f"  {refusal['path']}{row}: {refusal['reason']}")
