"""``replies_judge N --model ALIAS``: a judge model grades the open replies of a study, here and now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from eqstudio.management.base import StudioCommand
from evaluation.backends import backends, evaluators
from evaluation.domain.judging import BY_NAME
from evaluation.selectors import study_named
from evaluation.services.judging import judge_advance, judge_create
from evaluation.services.reply_results import replies_build


class Command(StudioCommand):
    help = "Let a model judge open replies. Interrupted, the same command goes on where it stopped; nothing is asked twice."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="name of the study")
        parser.add_argument("--model", required=True, help=f"known: {', '.join(backends)}")
        parser.add_argument(
            "--evaluator", default="text", help=f"text reads, mcq hears; known: {', '.join(evaluators)}"
        )
        parser.add_argument("--scale", action="append", default=[], help=f"known: {', '.join(BY_NAME)}; all if unset")

    def run(self, **options: Any) -> dict[str, Any]:
        study = study_named(options["name"])
        judges = judge_create(
            study=study, backend=options["model"], evaluator=options["evaluator"], scales=options["scale"]
        )
        judged = 0
        for judge in judges:
            began, more = timezone.now(), True
            while more:
                step = judge_advance(judge=judge, errors_before=began)
                judged, more = judged + step.judged, step.more
        found = replies_build(study) or {"judges": []}
        mine = [one for one in found["judges"] if one["name"] == judges[0].name]
        return {"study": study.name, "judge": judges[0].name, "judged": judged, "judges": mine}

    def report(self, result: dict[str, Any]) -> None:
        self.stdout.write(f"{result['judge']}: {result['judged']} judgements.")
        for judge in result["judges"]:
            for scale, figures in judge["agreement"].items():
                found = figures["qwk"]
                told = f"{found['value']:.2f}, n {found['n']}" if found["value"] is not None else found["reason"]
                self.stdout.write(f"  {scale}: quadratic kappa with people {told}")
