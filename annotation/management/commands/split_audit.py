from argparse import ArgumentParser
from typing import Any

from annotation.selectors import split_audit, split_named
from eqstudio.estimates import Estimate
from eqstudio.management.base import StudioCommand
from eqstudio.templatetags.studio import figure


class Command(StudioCommand):
    help = "May a split be released? Repeats in it, overlap with another one, and cues that give the key away."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("split", help="name (its latest version) or name-v2")
        parser.add_argument("--against", help="another split with which nothing should be shared")

    def run(self, **options: Any) -> dict[str, Any]:
        against = split_named(options["against"]) if options["against"] else None
        return split_audit(split=split_named(options["split"]), against=against)

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(f"{result['split']}: {result['items']} items")
        for check in result["checks"]:
            self.stdout.write(
                f"  {check['name']:<28} {'none' if check['passed'] else check['found']}  {check['message']}"
            )
        for shortcut in result["shortcuts"]:
            rule = "all measures together" if shortcut["cue"] == "together" else f"always the {shortcut['cue']}"
            self.stdout.write(
                f"  {rule:<28} {figure(Estimate(**shortcut['accuracy']))}{'  WARNING' if shortcut['warns'] else ''}"
            )
