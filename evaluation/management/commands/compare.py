"""``compare N``: who is better, by how much, and whether it is more than chance."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from eqstudio.estimates import Estimate
from eqstudio.management.base import StudioCommand
from eqstudio.templatetags.studio import figure
from evaluation.selectors import study_named
from evaluation.services import comparison_build
from evaluation.services.comparisons import BY
from evaluation.services.norming import COHORT


class Command(StudioCommand):
    help = "Accuracies with intervals, SEQ, paired differences with corrected p-values."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="name of the study")
        parser.add_argument("--by", default=None, help=f"also per one of: {', '.join(BY)}")
        parser.add_argument(
            "--norm",
            default=COHORT,
            help="what SEQ is relative to: cohort, people, published, or the name of a frozen norm",
        )
        parser.add_argument(
            "--with-key", action="store_true", help="let those who can read the key into the human baseline"
        )

    def run(self, **options: Any) -> dict[str, Any]:
        return comparison_build(
            study=study_named(options["name"]), by=options["by"], norm=options["norm"], with_key=options["with_key"]
        )

    def report(self, result: dict[str, Any]) -> None:
        self._table(f"{result['study']}: {result['items']} items of {result['split']}", result["respondents"])
        for group in result.get("groups", []):
            (value,) = group["by"].values()
            self._table(f"{value}: {group['items']} items", group["respondents"])
        for pair in result["pairs"]:
            if pair["metric"] == result["headline"] and pair["p"] is not None:
                difference = figure(Estimate(**pair["difference"]))
                self.stdout.write(f"{pair['a']} - {pair['b']}: {difference}, Holm p {pair['p_holm']:.4f}")

        for why, names in result["norm_left_out"].items():
            if names:
                self.stdout.write(f"The norm of SEQ does not rest on {', '.join(names)} ({why}).")

    def _table(self, title: str, respondents: list[dict[str, Any]]) -> None:
        self.stdout.write(title)
        for entry in respondents:
            figures = "; ".join(f"{name} {figure(Estimate(**one))}" for name, one in entry["estimates"].items())
            self.stdout.write(f"  {entry['name']} ({entry['kind']}): {figures}")
