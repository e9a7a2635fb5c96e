"""Model runs: begin one, watch it, read what it answered."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Outcome, Trial
from eqstudio.errors import StudioError
from evaluation.forms import LimitsForm, RunForm
from evaluation.models import Respondent, Response, RunPlan, RunWorker, Sitting
from evaluation.selectors import (
    Progress,
    answers_listed,
    failed_calls_by_cause,
    failures_by_cause,
    outcome_counts,
    queue_of,
    run_for,
    run_pulse,
    runs_listed,
    sittings_progress,
    study_to_curate_for,
    workers_of,
)
from evaluation.services import failures_retry, limits_set, sitting_cancel, sitting_resume, study_run
from evaluation.services.runs_budget import limit_unseen, run_resume, spent
from evaluation.services.scoring import score_that_counts
from evaluation.tasks import sitting_enqueue
from evaluation.words import OUTCOMES
from generation.views.guards import curating, person

PER_PAGE = 50
ANSWERS_PER_PAGE = 30
WORKERS_SHOWN = 10
SEEN_LATELY = timedelta(seconds=15)
BLIND = ("random", "first")
ACOUSTIC = ("rule-quieter", "rule-longer", "rule-lower")


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def run_new(request: HttpRequest, uid: str) -> HttpResponse:
    """Let a model sit a study; the worker begins at once."""
    study = study_to_curate_for(person(request), uid)
    form, limits = RunForm(request.POST or None), LimitsForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and limits.is_valid():
        try:
            respondent = study_run(study=study, actor=person(request), limits=limits.limits(), **form.cleaned_data)
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            enqueue(respondent)
            first = respondent.sittings.order_by("run").first()
            return redirect("run", first.uid) if first else redirect("runs")
    return render(request, "evaluation/run_new.html", {"study": study, "form": form, "limits": limits})


@require_POST
@curating
def rules_run(request: HttpRequest, uid: str) -> HttpResponse:
    """Let the rules that do not listen sit a study, those that have not yet; they cost nothing."""
    study = study_to_curate_for(person(request), uid)
    benchmark = benchmark_get(study.benchmark)
    fitting = BLIND + (ACOUSTIC if benchmark.shortcut_pairs else ())
    begun = set(study.respondents.exclude(run_spec=None).values_list("run_spec__content__backend", flat=True))
    for alias in (alias for alias in fitting if alias not in begun):
        enqueue(study_run(study=study, backend=alias, actor=person(request)))
    messages.success(request, _("The rules sit this study now."))
    return redirect("study", uid)


def enqueue(respondent: Respondent) -> None:
    for pk in respondent.sittings.filter(state=Sitting.State.OPEN).values_list("pk", flat=True):
        transaction.on_commit(partial(sitting_enqueue, pk))


@require_safe
@curating
def runs(request: HttpRequest) -> HttpResponse:
    page = Paginator(runs_listed(), PER_PAGE).get_page(request.GET.get("page"))
    rows = list(page.object_list)
    progress = sittings_progress(sittings=rows)
    return render(
        request, "evaluation/runs.html", {"page_obj": page, "lines": [(row, progress[row.pk]) for row in rows]}
    )


@require_safe
@curating
def run(request: HttpRequest, uid: str) -> HttpResponse:
    """How far a run is, what failed and why, and every raw answer with what was read from it."""
    sitting = run_for(person(request), uid)
    outcome = request.GET.get("outcome", "")
    outcome = outcome if outcome in set(Outcome) else ""
    page = Paginator(answers_listed(sitting=sitting, outcome=outcome), ANSWERS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    progress = sittings_progress(sittings=[sitting])[sitting.pk]
    context = {
        "sitting": sitting,
        "study": sitting.respondent.study,
        "spec": sitting.respondent.run_spec,
        "progress": progress,
        **_at_work(sitting, progress),
        "outcomes": [(name, OUTCOMES[name], n) for name, n in outcome_counts(sitting=sitting).items()],
        "failures": [{**row, "label": OUTCOMES[str(row["failure"])]} for row in failures_by_cause(sitting=sitting)],
        "outcome": outcome,
        "page_obj": page,
        "answers": [_answer(response) for response in page.object_list],
        "others": sitting.respondent.sittings.exclude(pk=sitting.pk).order_by("run"),
    }
    template = "evaluation/run_progress.html" if getattr(request, "htmx", False) else "evaluation/run.html"
    return render(request, template, context)


def _at_work(sitting: Sitting, progress: Progress) -> dict[str, object]:
    """Of a model's run: pace, cost, what went wrong on the way, who works on it, and its limits."""
    if sitting.respondent.run_spec is None:
        return {}
    now = timezone.now()
    plan = RunPlan.objects.filter(respondent=sitting.respondent).first() or RunPlan()
    workers = list(workers_of(sitting=sitting)[:WORKERS_SHOWN])
    pulse = run_pulse(sitting=sitting, progress=progress, now=now)
    unseen = limit_unseen(plan=plan, reports_usage=pulse.reports_usage, reports_cost=pulse.reports_cost)
    return {
        "pulse": pulse,
        "is_priced": bool(settings.PRICES.get(sitting.respondent.run_spec.content.get("model", ""))),
        "limit_unseen": unseen if sitting.state == Sitting.State.OPEN else "",
        "failed_calls": failed_calls_by_cause(sitting=sitting),
        "workers": [(worker, _rate(worker), worker.seen > now - SEEN_LATELY) for worker in workers],
        "paused": sitting.not_before if sitting.not_before and sitting.not_before > now else None,
        "waits_for_gpu": not workers
        and sitting.state == Sitting.State.OPEN
        and queue_of(sitting_id=sitting.pk) == "gpu",
        "limits": LimitsForm(
            initial={
                "concurrency": plan.concurrency,
                "max_calls": plan.max_calls,
                "max_tokens": plan.max_tokens,
                "max_cost": plan.max_cost,
            }
        ),
    }


def _rate(worker: RunWorker) -> float | None:
    """Answers a second while it worked."""
    seconds = (worker.seen - worker.began).total_seconds()
    return worker.answered / seconds if seconds > 0 else None


def _answer(response: Response) -> dict[str, object]:
    trial = Trial.from_dict(response.trial.shown)
    score = score_that_counts(response.scores.all())
    return {
        "response": response,
        "trial": trial,
        "score": score,
        "outcome": OUTCOMES[score.outcome] if score else _("not scored"),
        "readings": len(response.scores.all()),
    }


@require_POST
@curating
def run_off(request: HttpRequest, uid: str) -> HttpResponse:
    """Stop a run for good; its answers stay but are compared no more."""
    sitting = run_for(person(request), uid)
    if sitting_cancel(sitting=sitting, actor=person(request)):
        messages.info(request, _("The run was stopped. Its answers are kept, but no longer compared."))
    return redirect("run", uid)


@require_POST
@curating
def run_on(request: HttpRequest, uid: str) -> HttpResponse:
    """Let a run go on that stopped by itself."""
    sitting = run_for(person(request), uid)
    try:
        if run_resume(sitting=sitting, actor=person(request)):
            transaction.on_commit(lambda: sitting_enqueue(sitting.pk))
            messages.success(request, _("The run goes on with the next question."))
    except StudioError as error:
        messages.error(request, error.message)
    return redirect("run", uid)


@require_POST
@curating
def run_again(request: HttpRequest, uid: str) -> HttpResponse:
    """Ask the questions again that failed by one cause, or all that failed."""
    sitting = run_for(person(request), uid)
    try:
        count = failures_retry(sitting=sitting, cause=request.POST.get("cause"), actor=person(request))
    except StudioError as error:
        messages.error(request, error.message)
    else:
        if count:
            transaction.on_commit(lambda: sitting_enqueue(sitting.pk))
        messages.success(
            request,
            ngettext("%(n)d question is asked again.", "%(n)d questions are asked again.", count) % {"n": count},
        )
    return redirect("run", uid)


@require_POST
@curating
def run_limits(request: HttpRequest, uid: str) -> HttpResponse:
    """Give a run other limits; all its sittings that stopped for want of room go on."""
    sitting = run_for(person(request), uid)
    form = LimitsForm(request.POST)
    if not form.is_valid():
        for field, errors in form.errors.items():
            messages.error(request, f"{form.fields[field].label}: {' '.join(map(str, errors))}")
        return redirect("run", uid)
    plan = limits_set(respondent=sitting.respondent, limits=form.limits(), actor=person(request))
    if not spent(plan):
        for stopped in sitting.respondent.sittings.exclude(error=""):
            sitting_resume(sitting=stopped, actor=person(request))
    enqueue(sitting.respondent)
    messages.success(request, _("The limits are kept."))
    return redirect("run", uid)
