"""``study_create N --split S``: the exam."""

from __future__ import annotations

import json
import tomllib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.selectors import split_named
from eqstudio.benchmarks import benchmarks
from eqstudio.errors import InvalidInput
from eqstudio.management.base import StudioCommand
from evaluation.models import Part
from evaluation.selectors import items_counted
from evaluation.services import protocol_lock, protocol_save, study_create
from evaluation.services.specials import specials_set
from evaluation.services.specials_sound import specials_measure


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
        parser.add_argument(
            "--protocol",
            type=Path,
            default=None,
            metavar="FILE",
            help="TOML or JSON with what is declared beforehand: design, sampling, recruitment, execution, analysis",
        )
        parser.add_argument(
            "--practice", nargs="+", default=[], metavar="CODE", help="dialogues outside the split to practise on"
        )
        parser.add_argument(
            "--attention",
            nargs="+",
            default=[],
            metavar="CODE",
            help="dialogues outside the split to show attention with",
        )
        parser.add_argument("--lock", action="store_true", help="lock the protocol at once")

    def run(self, **options: Any) -> dict[str, Any]:
        content = protocol_from(options["protocol"]) if options["protocol"] else None
        split = split_named(options["split"])
        if practised := [*options["practice"], *options["attention"]]:
            specials_measure(split=split, codes=practised)
        with transaction.atomic():
            study = study_create(
                name=options["name"],
                split=split,
                benchmark=options["benchmark"],
                seed=options["seed"],
            )
            if content is not None:
                try:
                    version = protocol_save(study=study, content=content)
                except InvalidInput as error:
                    raise InvalidInput(f"{options['protocol']}: {error.message}", field=error.field) from error
            if practised:
                chosen = {Part.PRACTICE: options["practice"], Part.ATTENTION: options["attention"]}
                specials_set(study=study, chosen=chosen)
            if options["lock"]:
                version = protocol_lock(study=study)
        return {
            "study": study.name,
            "uid": study.uid,
            "split": str(study.split),
            "benchmark": study.benchmark,
            "benchmark_version": study.benchmark_version,
            "items": items_counted([study])[study.pk],
            "seed": study.seed,
            "manifest_hash": study.split.manifest_hash,
            "instructions_hash": study.instructions_hash,
            "protocol_hash": version.hash if content is not None or options["lock"] else None,
            "locked_at": study.locked_at,
        }

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(
            f"Study {result['study']}: {result['items']} items of {result['split']}, {result['benchmark']} "
            f"version {result['benchmark_version']}, seed {result['seed']}."
        )
        if result["protocol_hash"]:
            state = f"locked at {result['locked_at']}" if result["locked_at"] else "not locked"
            self.stdout.write(f"Protocol {result['protocol_hash']}, {state}.")


def protocol_from(path: Path) -> dict[str, Any]:
    """The content of a protocol file; InvalidInput names the file and where it stops making sense."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    try:
        content = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise InvalidInput(f"{path} is not {kind}: {error}. Nothing was made.", field="protocol") from error
    if not isinstance(content, dict):
        raise InvalidInput(
            f"{path} should hold a table of blocks: design, sampling, recruitment, ...", field="protocol"
        )
    return content
