"""``study_create N --split S``: the exam."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from annotation.selectors import split_named
from eqstudio.benchmarks import benchmarks
from eqstudio.management.base import StudioCommand
from evaluation.services import study_create


class Command(StudioCommand):
    help = "Freeze a split, a benchmark version, a seed and the instructions into an exam."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="name of the new study")
        parser.add_argument("--split", required=True, help="a split's name (its latest version) or name-v2")
        parser.add_argument(
            "--benchmark", default=None, help=f"the split's own by default; known: {', '.join(benchmarks)}"
        )
        parser.add_argument("--seed", type=int, default=0, help="fixes the order of items and options")

    def run(self, **options: Any) -> dict[str, Any]:
        study = study_create(
            name=options["name"],
            split=split_named(options["split"]),
            benchmark=options["benchmark"],
            seed=options["seed"],
        )
        return {
            "study": study.name,
            "uid": study.uid,
            "split": str(study.split),
            "benchmark": study.benchmark,
            "benchmark_version": study.benchmark_version,
            "items": study.split.item_count,
            "seed": study.seed,
            "manifest_hash": study.split.manifest_hash,
            "instructions_hash": study.instructions_hash,
        }

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(
            f"Study {result['study']}: {result['items']} items of {result['split']}, {result['benchmark']} "
            f"version {result['benchmark_version']}, seed {result['seed']}."
        )
