"""Bring dialogues in from elsewhere."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from eqstudio.management.base import StudioCommand
from generation.domain.lifecycle import DialogueState
from generation.importers import importers
from generation.models import Dialogue
from generation.providers import transcribers
from generation.services import corpus_ensure, corpus_import, dialogues_run, import_check

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from generation.models import Corpus

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

        parser.add_argument(
            "--transcriber",
            default="",
            help=f"who listens and holds every recording against its words; nobody if not given: {', '.join(transcribers)}",
        )

    def run(self, **options: Any) -> dict[str, Any]:
        asked = {name: options[name] for name in ("path", "format", "transcriber")}
        import_check(**asked)
        corpus = corpus_ensure(name=options["name"])
        defaults = {name: options[name] for name in DEFAULTS}
        result = corpus_import(corpus=corpus, defaults=defaults, **asked).as_dict()
        return result | (self._heard(corpus, options["transcriber"]) if options["transcriber"] else {})

    def _heard(self, corpus: Corpus, transcriber: str) -> dict[str, Any]:
        """Have what waits for this transcriber checked here, together with whatever workers run. How all of it stands."""
        given = Dialogue.objects.filter(corpus=corpus, brief__text_provider="", brief__transcriber=transcriber)
        dialogues_run(ids=given, connections=settings.CONNECTIONS)
        states = Counter(given.values_list("state", flat=True))
        failed = list(given.filter(state=DialogueState.FAILED.value).values("uid", "error_cause", "error"))
        return {"checked": dict(sorted(states.items())), "failed": failed}

    def report(self, result: dict[str, Any]) -> None:
        refused = result["refused"]
        self.stdout.write(f"Created {result['created']}, skipped {result['skipped']}, refused {len(refused)}.")
        if "checked" in result:
            states = ", ".join(f"{count} {state}" for state, count in result["checked"].items()) or "nothing to check"
            self.stdout.write(f"Transcripts: {states}.")
            for failure in result["failed"]:
                self.stdout.write(f"  {failure['uid']}: {failure['error_cause']}: {failure['error']}")
        for refusal in refused:
            row = f" ({refusal['row']})" if refusal["row"] else ""
            self.stdout.write(f"  {refusal['path']}{row}: {refusal['reason']}")
