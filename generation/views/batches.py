"""Asking for dialogues, and watching them being made."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from eqstudio.errors import StudioError
from generation.domain.thresholds import thresholds_read
from generation.forms import BatchForm, BudgetForm
from generation.models import Batch, Dialogue
from generation.selectors import batch_for, batch_progress, batches_listed
from generation.services import Budget, batch_cancel, batch_top_up, budget_set, corpus_ensure, dialogues_retry
from generation.tasks import production_sweep_now
from generation.threshold_fields import limit_rows
from generation.views.guards import curating, person

PER_PAGE = 50
DIALOGUES_SHOWN = 100


@require_safe
@curating
def batches(request: HttpRequest) -> HttpResponse:
    page = Paginator(batches_listed(), PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "generation/batches.html", {"page_obj": page})


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def batch_new(request: HttpRequest) -> HttpResponse:
    """Ask for dialogues; the worker begins as soon as the batch is saved."""
    form = BatchForm(request.POST or None, initial={"corpus": request.GET.get("corpus", "")})
    budget = BudgetForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and budget.is_valid():
        try:
            corpus = corpus_ensure(name=form.cleaned_data["corpus"], actor=person(request))
            made = batch_top_up(
                corpus=corpus,
                wanted=form.cleaned_data["briefs"],
                actor=person(request),
                thresholds=form.cleaned_data["thresholds"],
            )
        except StudioError as error:
            form.add_error("corpus" if error.field == "name" else None, error.message)
        else:
            if made is not None:
                if budget.budget() != Budget():
                    budget_set(batch=made, budget=budget.budget(), actor=person(request))
                production_sweep_now()
                return redirect("batch", made.uid)
            form.add_error(None, _("The corpus holds all of these already. Raise the number, or choose another seed."))
    return render(request, "generation/batch_new.html", {"form": form, "budget": budget})


@require_safe
@curating
def batch(request: HttpRequest, uid: str) -> HttpResponse:
    """How far a batch is. Asked by htmx, only the part that changes."""
    found = batch_for(person(request), uid)
    context = {
        "batch": found,
        "progress": batch_progress(batch=found, now=timezone.now()),
        "dialogues": Dialogue.objects.filter(brief__batch=found).order_by("pk")[:DIALOGUES_SHOWN],
    }
    if getattr(request, "htmx", False):
        return render(request, "generation/batch_progress.html", context)
    budget = BudgetForm(initial={name: getattr(found, name) for name in BudgetForm.base_fields})
    limits = limit_rows(thresholds_read(found.thresholds))
    whole = {**context, "briefs": found.briefs.all(), "budget": budget, "limits": limits}
    return render(request, "generation/batch.html", whole)


@require_POST
@curating
def batch_budget(request: HttpRequest, uid: str) -> HttpResponse:
    """Give a batch other limits; a stopped one goes on if they leave it room."""
    found = batch_for(person(request), uid)
    form = BudgetForm(request.POST)
    if not form.is_valid():
        for field, problems in form.errors.items():
            messages.error(request, f"{form.fields[field].label}: {' '.join(map(str, problems))}")
        return redirect("batch", uid)
    changed = budget_set(batch=found, budget=form.budget(), actor=person(request))
    if changed.stopped_at:
        why = {"why": changed.stopped_reason}
        messages.warning(request, _("The limits are kept, but they are used up already: %(why)s") % why)
    else:
        messages.success(request, _("The limits are kept."))
        production_sweep_now()
    return redirect("batch", uid)


@require_POST
@curating
def batch_off(request: HttpRequest, uid: str) -> HttpResponse:
    """Call a batch off."""
    found: Batch = batch_for(person(request), uid)
    batch_cancel(batch=found, now=timezone.now(), actor=person(request))
    messages.info(request, _("The batch was called off. What was made is kept."))
    return redirect("batch", uid)


@require_POST
@curating
def batch_retry(request: HttpRequest, uid: str) -> HttpResponse:
    """Try the failures of one cause again."""
    found = batch_for(person(request), uid)
    moved = dialogues_retry(batch=found, cause=request.POST.get("cause", ""), actor=person(request))
    if moved and found.stopped_at:
        messages.warning(request, _("The batch is stopped: what is to be tried again waits for a higher limit."))
    elif moved:
        production_sweep_now()
        said = ngettext("%(n)d dialogue is tried again.", "%(n)d dialogues are tried again.", moved) % {"n": moved}
        messages.success(request, said)
    else:
        messages.info(request, _("No dialogue of this batch failed for that reason any more."))
    return redirect("batch", uid)
