from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.utils import timezone

from annotation.domain.curation import Recipe
from annotation.selectors import corpus_named, round_named
from annotation.services import split_freeze
from eqstudio.errors import InvalidInput
from eqstudio.management.base import StudioCommand


class Command(StudioCommand):
    help = "Freeze a split from rounds (what people kept) or from a corpus (what is ready)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--round", help="goes before the rounds that the recipe names")
        source.add_argument("--corpus", help="goes before the corpus that the recipe names")
        parser.add_argument(
            "--recipe", type=Path, help="a TOML or JSON file: rounds, outcome, minimum_people, size ..."
        )

    def run(self, **options: Any) -> dict[str, Any]:
        split = split_freeze(
            name=options["name"],
            round=round_named(options["round"]) if options["round"] else None,
            corpus=corpus_named(options["corpus"]) if options["corpus"] else None,
            recipe=_recipe(options["recipe"]),
            now=timezone.now(),
        )
        return {
            "split": str(split),
            "uid": split.uid,
            "name": split.name,
            "version": split.version,
            "benchmark": split.benchmark,
            "items": split.item_count,
            "manifest_hash": split.manifest_hash,
            "canary": split.canary,
            "agreement": split.manifest["agreement"],
            "shortfalls": split.manifest["shortfalls"],
        }

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(f"Frozen {result['split']}: {result['items']} items, manifest {result['manifest_hash']}")
        for short in result["shortfalls"]:
            rule = f"{short['rule']} {short['value']}".strip()
            self.stdout.write(f"  short of {rule}: {short['got']:g} of {short['wanted']:g}")


def _recipe(path: Path | None) -> Recipe:
    if path is None:
        return Recipe()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The recipe {path} cannot be read: {error}.", field="recipe") from error
    return Recipe.from_json(text) if path.suffix.lower() == ".json" else Recipe.from_toml(text)
