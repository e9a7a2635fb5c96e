"""The base of every studio command: one run, told to a person or as one JSON document."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from eqstudio.errors import StudioError

if TYPE_CHECKING:
    from argparse import ArgumentParser


class StudioCommand(BaseCommand):
    """Subclasses implement ``run`` (do it, return plain data) and ``report`` (say it to a person).

    With ``--json`` exactly one JSON document goes to stdout; an error is ``{"error", "field"}`` with exit code 1.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print exactly one JSON document on stdout")

    @abstractmethod
    def run(self, **options: Any) -> dict[str, Any]:
        """Do the work and return what ``--json`` prints."""

    @abstractmethod
    def report(self, result: dict[str, Any]) -> None:
        """Tell a person what happened, on ``self.stdout``."""

    def handle(self, *args: Any, **options: Any) -> None:
        as_json = options.pop("json")
        try:
            result = self.run(**options)
        except StudioError as error:
            if not as_json:
                raise CommandError(error.message) from error
            self._print_json({"error": error.message, "field": error.field})
            sys.exit(1)
        if as_json:
            self._print_json(result)
        else:
            self.report(result)

    def _print_json(self, document: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(document, ensure_ascii=False, default=str))
