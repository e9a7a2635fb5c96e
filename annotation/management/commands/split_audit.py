from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from annotation.models import SplitAudit
from annotation.selectors import split_named
from annotation.services import audit_make, audit_request
from eqstudio.errors import StudioError
from eqstudio.estimates import Estimate
from eqstudio.management.base import StudioCommand
from eqstudio.templatetags.studio import figure


class Command(StudioCommand):
    help = "May a split be released? Copies in it, overlap with another one, and cues that give the key away."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("split", help="name (its latest version) or name-v2")
        parser.add_argument("--against", help="another split with which nothing should be shared")

    def run(self, **options: Any) -> dict[str, Any]:
        against = split_named(options["against"]) if options["against"] else None
        asked = audit_request(split=split_named(options["split"]), against=against)
        made = audit_make(audit_id=asked.pk, now=timezone.now())
        if made.state != SplitAudit.State.DONE:
            raise StudioError(made.error or "Another process is making this audit; ask again when it is done.")
        return {"audit": made.uid, "seconds": made.seconds, **made.report}

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(f"{result['split']}: {result['items']} items")
        for check in result["checks"]:
            found = "none" if check["passed"] else f"{check['found']} ({check['items']} items)"
            self.stdout.write(f"  {check['name']:<28} {found}  {check['message']}")
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

    def _figure(self, rule: str, accuracy: dict[str, Any], *, warns: bool) -> None:
        self.stdout.write(f"  {rule:<28} {figure(Estimate(**accuracy))}{'  WARNING' if warns else ''}")
