"""Fill in the equally loud copies of older corpora."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import track

from eqstudio.errors import NotFound
from eqstudio.management.base import StudioCommand
from generation.models import Corpus
from generation.services import corpus_match

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(StudioCommand):
    help = (
        "Make a copy at -23 LUFS of every clip that has none, equally loud within a line; the originals stay. Stop it "
        "whenever you like: the same command goes on where it stopped."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--corpus", default="", help="only this corpus; all of them if not given")

    def handle(self, *args: Any, **options: Any) -> None:
        self.shows_progress = not options["json"]
        super().handle(*args, **options)

    def run(self, **options: Any) -> dict[str, Any]:
        corpus = Corpus.objects.filter(name=options["corpus"]).first()
        if options["corpus"] and corpus is None:
            raise NotFound(f"There is no corpus {options['corpus']!r}.", field="corpus")
        filled = corpus_match(corpus=corpus)
        done = list(
            track(filled, "copies", console=Console(stderr=True), disable=not self.shows_progress, transient=True)
        )
        return {
            "dialogues": len(done),
            "copies": sum(each.copies for each in done),
            "measured": sum(each.measured for each in done),
            "failed": [{"dialogue": each.dialogue.uid, "reason": each.reason} for each in done if each.reason],
        }

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(
            f"{result['copies']} copies made and {result['measured']} clips measured in {result['dialogues']} dialogues."
        )
        for each in result["failed"]:
            self.stdout.write(f"  {each['dialogue']}: {each['reason']}")
