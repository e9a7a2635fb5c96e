from argparse import ArgumentParser
from typing import Any

from annotation.selectors import round_agreement, round_named
from annotation.selectors.agreement import BY
from eqstudio.estimates import Estimate
from eqstudio.management.base import StudioCommand
from eqstudio.templatetags.studio import figure


class Command(StudioCommand):
    help = "How far the people of a round agree: every coefficient with its interval, or why it is undefined."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("round", help="name of the round")
        parser.add_argument("--by", choices=sorted(BY), default=None)

    def run(self, **options: Any) -> dict[str, Any]:
        found = round_named(options["round"])
        return {"round": found.name, "groups": round_agreement(round=found, by=options["by"])}

    def report(self, result: dict[str, Any]) -> None:
        if not result["groups"]:
            self.stdout.write(f"Nobody has judged anything in {result['round']} yet.")
        for group in result["groups"]:
            self.stdout.write(
                f"{group['dimension']}, {group['by']}: {group['items']} items, {group['ratings']} ratings, {group['raters']} raters"
            )
            for name, estimate in group["estimates"].items():
                self.stdout.write(f"  {name:<18} {figure(Estimate(**estimate))}")
