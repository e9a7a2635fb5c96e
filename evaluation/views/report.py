"""What a study can see, and the checklist for human baselines filled in from the database."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evaluation.domain.flow import stages_of
from evaluation.domain.power import Plan, design_effect, people_needed
from evaluation.forms import PowerForm
from evaluation.models import Study
from evaluation.selectors import excluded_of, hears_everywhere, planned_of, protocol_of, study_to_curate_for, unblinded
from evaluation.selectors.participants import funnel_of, people_lines
from evaluation.services import checklist_build, likeness_observed
from evaluation.services.checklist import checklist_markdown
from evaluation.services.checklist_declared import Declared, declared_of, differences_of
from evaluation.services.robustness import robustness_build
from evaluation.views.asked import seen
from evaluation.views.study_people import variants_told
from evaluation.words_people import STEP_WORDS
from generation.views.guards import curating, person

SIZES = (20, 50, 100, 200, 500, 1000, 2000, 4000)
GROUPS = (1, 3, 5, 10, 20, 50)


@require_safe
@never_cache
@curating
def study_report(request: HttpRequest, uid: str) -> HttpResponse:
    """The questions of the checklist with what the database knows; the rest stays open."""
    study = study_to_curate_for(person(request), uid)
    result = seen(request, study).result
    blocks = checklist_build(study=study, comparison=result)
    declared = declared_of(study)
    differences = differences_of(
        declared,
        hears=hears_everywhere(study=study),
        both_orders=not any(entry.get("orders_equal") is False for entry in result["respondents"]),
    )
    if "download" in request.GET:
        response = HttpResponse(
            checklist_markdown(study, blocks, differences), content_type="text/markdown; charset=utf-8"
        )
        response["Content-Disposition"] = f'attachment; filename="{study.name}-human-baseline.md"'
        return response
    rows = [row for block in blocks for row in block.rows]
    context = {
        "study": study,
        "blocks": blocks,
        "known": sum(row.answer is not None for row in rows),
        "open": sum(row.answer is None for row in rows),
        "differences": differences,
        **_people(study, declared),
    }
    return render(request, "evaluation/study_report.html", context)


def _people(study: Study, declared: Declared) -> dict[str, Any]:
    """How far people came, what an hour comes to, and the results with and without those whom rules leave out (names of rules
    only once the study is unblinded).
    """
    lines, out = people_lines(study=study), excluded_of(study)
    funnel = funnel_of(lines=lines, asked=stages_of(declared.protocol), out=out)
    return {
        "funnel": [(STEP_WORDS[name], n, n / len(lines) if lines else None) for name, n in funnel],
        "hourly": declared.hourly,
        "pay": declared.protocol.recruitment.pay,
        "currency": declared.protocol.recruitment.currency,
        "variants": variants_told(robustness_build(study=study)) if unblinded(study) else [],
        "rules": bool(declared.protocol.analysis.exclusions),
    }


@require_safe
@never_cache
@curating
def study_power(request: HttpRequest, uid: str) -> HttpResponse:
    """The smallest difference between people and a model that n items by k people can see; it starts from the study's own items,
    their clusters, and what the protocol wants.
    """
    study = study_to_curate_for(person(request), uid)
    planned = planned_of(study=study, protocol=protocol_of(study))
    start: dict[str, float] = {
        "items": max(2, planned.items),
        "people": planned.people,
        "cluster_size": round(planned.cluster_size, 2),
        "claim": round(100 * planned.claim, 4),
    }
    observed = likeness_observed(study=study)
    if observed is not None:
        start["correlation"] = round(observed, 2)
    given = {name: field.initial for name, field in PowerForm.base_fields.items() if field.initial is not None} | start
    form = PowerForm({**given, **request.GET.dict()})
    context = {"study": study, "form": form, "planned": planned, "observed": observed}
    if form.is_valid():
        sent = form.cleaned_data
        deff = design_effect(sent["cluster_size"], sent["correlation"])
        shared = {"discordance": sent["discordance"], "spread": sent["spread"], "deff": deff}
        plan = Plan(items=sent["items"], people=sent["people"], **shared)
        claim = sent["claim"] / 100
        context |= {
            "mde": 100 * plan.detectable(),
            "half": 100 * plan.half_width,
            "power": 100 * plan.power(claim),
            "enough": plan.detectable() <= claim,
            "claim": sent["claim"],
            "deff": deff,
            "effective": sent["items"] / deff,
            "people_needed": people_needed(claim, plan),
            "groups": GROUPS,
            "table": [
                (items, [100 * Plan(items=items, people=each, **shared).detectable() for each in GROUPS])
                for items in SIZES
            ],
        }
    return render(request, "evaluation/study_power.html", context)
