from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from annotation.exporters import Options
from annotation.selectors import split_named
from annotation.services import export_push, split_export
from annotation.services.exports import export_is
from annotation.services.hub_push import push_check
from eqstudio.errors import InvalidInput
from eqstudio.management.base import StudioCommand
from eqstudio.net import secret


class Command(StudioCommand):
    help = "Write a split into a new folder, and send it to a hub if asked."
    requires_system_checks = []  # they load every page, which takes 100 MB beside an export

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("split", help="name (its latest version) or name-v2")
        parser.add_argument("--format", default="huggingface")
        parser.add_argument("--output", type=Path, required=True)
        parser.add_argument("--resume", action="store_true", help="go on where an export into this folder was cut off")
        parser.add_argument("--bom", action="store_true", help="begin tables with a byte order mark, for spreadsheets")
        parser.add_argument(
            "--push", metavar="OWNER/NAME", help="also send it to this data set on the hub at HF_ENDPOINT"
        )
        parser.add_argument("--token-env", default="HF_TOKEN", help="environment variable that holds the hub's token")
        parser.add_argument("--public", action="store_true", help="make the data set on the hub one that all may read")

    def run(self, **options: Any) -> dict[str, Any]:
        if options["push"]:
            push_check(repository=options["push"], token_env=options["token_env"])
            secret(options["token_env"], holds="the token of the hub")
        told = self._export(**options)
        if not options["push"]:
            return told
        pushed = export_push(
            folder=options["output"].resolve(),
            repository=options["push"],
            token_env=options["token_env"],
            private=not options["public"],
        )
        return {**told, "pushed": pushed}

    def _export(self, **options: Any) -> dict[str, Any]:
        """Write it, or take what an earlier run finished whose push was cut off."""
        split, output = split_named(options["split"]), options["output"]
        what: dict[str, Any] = {"split": split, "format": options["format"], "options": Options(bom=options["bom"])}
        if options["push"] and options["resume"] and (output / "manifest.json").exists():
            if not export_is(folder=output, **what):
                raise InvalidInput(
                    f"{output} holds another export than {split} as {options['format']}.", field="output"
                )
            return {"split": str(split), "output": str(output), "items": split.item_count, "files": []}
        return split_export(output=output, resume=options["resume"], **what)

    def report(self, result: dict[str, Any]) -> None:
        size = sum(file["size"] for file in result["files"]) / 1e6
        self.stdout.write(f"{result['split']}: {result['items']} items, {size:.1f} MB in {result['output']}")
        if pushed := result.get("pushed"):
            self.stdout.write(
                f"  on the hub as {pushed['repository']} at {pushed['commit']}: {pushed['files']} files fetched back unchanged"
            )
