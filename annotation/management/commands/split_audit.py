from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from annotation.models import SplitAudit
from annotation.selectors import split_named
from annotation.selectors.audit import Progress as Told
from annotation.services import audit_make, audit_request, audit_stop
from eqstudio.errors import StudioError
from eqstudio.estimates import Estimate
from eqstudio.management.base import StudioCommand
from eqstudio.templatetags.studio import figure

GROUPS_TOLD, ITEMS_TOLD = 5, 8
"""So many are printed; --json has more."""


class Command(StudioCommand):
    help = "May a split be released? Copies in it, overlap with another one, and cues that give the key away."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("split", help="name (its latest version) or name-v2")
        parser.add_argument("--against", help="another split with which nothing should be shared")

    def handle(self, *args: Any, **options: Any) -> None:
        self.shows_progress = not options["json"]
        super().handle(*args, **options)

    def run(self, **options: Any) -> dict[str, Any]:
        against = split_named(options["against"]) if options["against"] else None
        asked = audit_request(split=split_named(options["split"]), against=against)
        with _bar(shown=self.shows_progress) as told:
            try:
                made = audit_make(audit_id=asked.pk, now=timezone.now(), progress=told)
            except KeyboardInterrupt as error:
                audit_stop(audit=asked)
                raise StudioError("Stopped. Recordings that were measured need not be measured again.") from error
        if made.state != SplitAudit.State.DONE:
            raise StudioError(made.error or "Another process is making this audit; ask again when it is done.")
        return {"audit": made.uid, "seconds": made.seconds, **made.report}

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(f"{result['split']}: {result['items']} items")
        for check in result["checks"]:
            found = "none" if check["passed"] else f"{check['found']} ({check['items']} items)"
            self.stdout.write(f"  {check['name']:<28} {found}  {check['message']}")
            for group in check["groups"][:GROUPS_TOLD]:
                rest = " ..." if group["count"] > ITEMS_TOLD else ""
                self.stdout.write(f"    {group['key']}: {' '.join(group['items'][:ITEMS_TOLD])}{rest}")
        for shortcut in result["shortcuts"]:
            rule = "all measures together" if shortcut["cue"] == "together" else f"always the {shortcut['cue']}"
            self._figure(rule, shortcut["accuracy"], warns=shortcut["warns"])
        self._figure("the words alone", result["text_only"]["accuracy"], warns=result["text_only"]["warns"])
        for name, accuracy in result["ceiling"].items():
            self._figure(f"ceiling of a {name}", accuracy, warns=False)
        for place, reason in result["unreadable"].items():
            self.stdout.write(f"  not read: {place}: {reason}")
        if result["judges_who_answered"]["people"]:
            self.stdout.write(f"  judges who also answered: {result['judges_who_answered']['people']}")
        shut_by = ", ".join(result["summary"]["shut_by"])
        self.stdout.write(
            f"In the way of a release: {shut_by}" if shut_by else "Nothing stands in the way of a release."
        )

    def _figure(self, rule: str, accuracy: dict[str, Any], *, warns: bool) -> None:
        self.stdout.write(f"  {rule:<28} {figure(Estimate(**accuracy))}{'  WARNING' if warns else ''}")


@contextmanager
def _bar(*, shown: bool) -> Iterator[Told]:
    """A bar on stderr that follows the parts; it is gone at the end, and not there where nobody looks on."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not (shown and console.is_terminal)) as bar:
        task = bar.add_task("")
        at = ""

        def told(part: str, done: int, total: int) -> None:
            nonlocal at
            if part != at:
                at = part
                bar.reset(task, total=total or None, description=str(SplitAudit.Part(part).label))
            bar.update(task, completed=done)

        yield told
