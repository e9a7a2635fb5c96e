"""The base of every studio command: one run, told to a person or as one JSON document."""

from __future__ import annotations

import json
import sys
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NoReturn

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, DataError

from eqstudio.blobs import STORAGE_ERRORS
from eqstudio.errors import StudioError

if TYPE_CHECKING:
    from argparse import ArgumentParser


def told(error: Exception) -> tuple[str, str | None]:
    """What a person at the command line reads about an error, and the option that it is about."""
    if isinstance(error, StudioError):
        return error.message, error.field
    if isinstance(error, OverflowError | DataError):  # the one from SQLite's driver, the other from PostgreSQL
        return f"A number or a text is too large: {error}. Give a smaller one.", None
    if isinstance(error, DatabaseError):
        return f"The database refused: {error}. In a new data folder, run `manage.py migrate` first.", None
    return f"A file or folder could not be used: {error}. What was stored before is kept.", None


class StudioCommand(BaseCommand):
    """Subclasses implement ``run`` (do it, return plain data) and ``report`` (say it to a person).

    With ``--json`` exactly one JSON document goes to stdout; an error is ``{"error", "field"}`` with exit code 1. A command
    whose work can end half done tells so by ``failure``: its result is printed all the same, and the exit code is 1.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print exactly one JSON document on stdout")

    @abstractmethod
    def run(self, **options: Any) -> dict[str, Any]:
        """Do the work and return what ``--json`` prints."""

    @abstractmethod
    def report(self, result: dict[str, Any]) -> None:
        """Tell a person what happened, on ``self.stdout``."""

    def failure(self, result: dict[str, Any]) -> str:
        """Why the work that ``result`` tells of counts as failed; empty where it does not. The exit code is 1 then."""
        return ""

    def run_from_argv(self, argv: list[str]) -> None:
        """With ``--json``, arguments that cannot be read are an error document too, not a usage text alone."""
        if "--json" in argv:
            try:
                self.create_parser(argv[0], argv[1]).parse_args(argv[2:])
            except CommandError as error:
                self._refuse(str(error).removeprefix("Error: "))
        super().run_from_argv(argv)

    def handle(self, *args: Any, **options: Any) -> None:
        as_json = options.pop("json")
        try:
            result = self.run(**options)
        except (StudioError, DatabaseError, OverflowError, *STORAGE_ERRORS) as error:
            message, field = told(error)
            if not as_json:
                raise CommandError(message) from error
            self._refuse(message, field)
        if as_json:
            self._print_json(result)
        else:
            self.report(result)
        if failure := self.failure(result):
            if as_json:
                sys.exit(1)
            raise CommandError(failure)

    def _refuse(self, message: str, field: str | None = None) -> NoReturn:
        self._print_json({"error": message, "field": field})
        sys.exit(1)

    def _print_json(self, document: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(document, ensure_ascii=False, default=str))
