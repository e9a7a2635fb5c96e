"""`manage.py demo_load`: the demo's people and dialogues, through the ordinary pipeline."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from eqstudio.management.base import StudioCommand
from evaluation.demo import demo_corpora_ensure, demo_people_ensure
from evaluation.demo.corpora import demo_parts_missing
from generation.models import Dialogue
from generation.tasks import dialogue_enqueue


class Command(StudioCommand):
    help = (
        "Make the demo's people and ask for its dialogues; the worker speaks, judges and sits them. Can be run again."
    )

    def run(self, **options: Any) -> dict[str, Any]:
        people = demo_people_ensure()
        batches = demo_corpora_ensure()
        asked = list(Dialogue.objects.filter(brief__batch__in=batches).select_related("brief").order_by("pk"))
        for dialogue in asked:
            dialogue_enqueue(dialogue)
        return {"people": [asdict(sign_in) for sign_in in people], "asked": len(asked), "missing": demo_parts_missing()}

    def report(self, result: dict[str, Any]) -> None:
        for person in result["people"]:
            self.stdout.write(f"{person['username']}  {person['password']}  ({person['role']})")
        self.stdout.write(f"{result['asked']} dialogues were asked for; the worker goes on with them.")
        for message in result["missing"]:
            self.stdout.write(self.style.WARNING(message))
