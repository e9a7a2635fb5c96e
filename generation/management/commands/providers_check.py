"""Ask every provider whether it works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eqstudio.management.base import StudioCommand
from generation.services import providers_check

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Command(StudioCommand):
    help = "Ask every text provider, voice and transcriber (or those with one alias) whether it works."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("alias", nargs="?", default="", help="only providers with this alias")

    def run(self, **options: Any) -> dict[str, Any]:
        return {"providers": [check.as_dict() for check in providers_check(alias=options["alias"])]}

    def report(self, result: dict[str, Any]) -> None:
        for check in result["providers"]:
            word = "works" if check["ok"] else "fails"
            self.stdout.write(f"{check['kind']:12} {check['alias']:8} {word}: {check['message']}")
