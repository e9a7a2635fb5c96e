"""Does a meter solve this corpus?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eqstudio.errors import NotFound
from eqstudio.management.base import StudioCommand
from generation.domain.shortcuts import WARN_ABOVE
from generation.models import Batch, Corpus, Dialogue
from generation.selectors import shortcuts_found

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(StudioCommand):
    help = (
        "Tell how well loudness, length, pitch and brightness find the right rendition, each alone and all together, with "
        f"a warning above {WARN_ABOVE:.0%}. Measured on the clips as they were made."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--corpus", required=True, help="the name of a corpus")
        parser.add_argument("--batch", default="", help="only this batch of it, by its code")
        parser.add_argument(
            "--seed", type=int, default=0, help="shuffles the dialogues into the parts of the cross-validation"
        )

    def run(self, **options: Any) -> dict[str, Any]:
        corpus = Corpus.objects.filter(name=options["corpus"]).first()
        if corpus is None:
            raise NotFound(f"There is no corpus {options['corpus']!r}.", field="corpus")
        dialogues = Dialogue.objects.filter(corpus=corpus)
        if options["batch"]:
            batch = Batch.objects.filter(corpus=corpus, uid=options["batch"]).first()
            if batch is None:
                raise NotFound(f"The corpus has no batch {options['batch']!r}.", field="batch")
            dialogues = dialogues.filter(brief__batch=batch)
        found = shortcuts_found(dialogues=dialogues, seed=options["seed"])
        return {
            "corpus": corpus.name,
            "batch": options["batch"] or None,
            "seed": options["seed"],
            "warns": any(each.guard.warns for each in found),
            "benchmarks": [each.as_dict() for each in found],
        }

    def report(self, result: dict[str, Any]) -> None:
        for each in result["benchmarks"]:
            self.stdout.write(f"{each['benchmark']}: {each['pairs']} pairs of {each['dialogues']} dialogues")
            for rule in each["rules"]:
                said = _said(rule["accuracy"])
                self.stdout.write(f"  {rule['direction']:13} {said}{'  WARNING' if rule['warns'] else ''}")
        if not result["benchmarks"]:
            self.stdout.write("There is no dialogue here.")


def _said(accuracy: dict[str, Any]) -> str:
    if accuracy["value"] is None:
        return f"undefined: {accuracy['reason']}"
    return f"{accuracy['value']:6.1%}  [{accuracy['lo']:.1%}, {accuracy['hi']:.1%}]  n = {accuracy['n']}"
