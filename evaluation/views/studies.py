"""Studies: what may be sat, by whom, under which rules."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from eqstudio.access import can_curate, can_sit_exam
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import NotFound, StudioError
from evaluation.forms import StudyForm
from evaluation.models import Sitting
from evaluation.selectors import (
    outcome_counts,
    protocol_latest,
    sittings_progress,
    studies_listed,
    study_for,
    study_to_curate_for,
    with_sittings,
)
from evaluation.services import study_close, study_create
from generation.views.guards import curating, person

PER_PAGE = 50


@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """What may be sat now; for researchers also what is closed, and the way to a new one."""
    user = person(request)
    if not can_sit_exam(user):
        raise NotFound(_("There is no such page."))
    page = Paginator(studies_listed(user), PER_PAGE).get_page(request.GET.get("page"))
    lines = with_sittings(studies=list(page.object_list), user=user)
    return render(request, "evaluation/studies.html", {"page_obj": page, "lines": lines, "curates": can_curate(user)})


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def study_new(request: HttpRequest) -> HttpResponse:
    form = StudyForm(request.POST or None, initial={"split": request.GET.get("split")})
    if request.method == "POST" and form.is_valid():
        wanted = form.cleaned_data
        try:
            made = study_create(
                name=wanted["name"],
                split=wanted["split"],
                seed=wanted["seed"],
                gate_share=wanted["gate_share"] / 100,
                actor=person(request),
            )
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            return redirect("study", made.uid)
    return render(request, "evaluation/study_new.html", {"form": form})


@require_safe
def study(request: HttpRequest, uid: str) -> HttpResponse:
    """The protocol: the same instructions that people read and models are given; who sits; how far."""
    user = person(request)
    found = study_for(user, uid)
    curates = can_curate(user)
    sittings = Sitting.objects.filter(respondent__study=found).select_related("respondent__study__split")
    if not curates:
        sittings = sittings.filter(respondent__user_id=user.pk)
    rows = list(sittings.order_by("pk"))
    progress = sittings_progress(sittings=rows)
    (line,) = with_sittings(studies=[found], user=user)
    mine = line.sitting
    language = "zh" if (get_language() or "en").startswith("zh") else "en"
    context = {
        "study": found,
        "items": line.items,
        "benchmark": benchmark_get(found.benchmark),
        "instructions": found.instructions.get(language) or next(iter(found.instructions.values()), ""),
        "curates": curates,
        "protocol": protocol_latest(found) if curates else None,
        "rows": [(row, progress[row.pk]) for row in rows] if curates else [],
        "mine": mine,
        "my_progress": progress[mine.pk] if mine else None,
        "my_outcomes": outcome_counts(sitting=mine) if mine else {},
    }
    return render(request, "evaluation/study.html", context)


@require_POST
@curating
def study_off(request: HttpRequest, uid: str) -> HttpResponse:
    """Close a study: nobody begins or goes on."""
    found = study_to_curate_for(person(request), uid)
    study_close(study=found, actor=person(request))
    return redirect("study", uid)
