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
from generation.forms import BatchForm
from generation.models import Batch, Dialogue
from generation.selectors import batch_for, batch_progress, batches_listed
from generation.services import batch_cancel, batch_top_up, corpus_ensure, dialogues_retry
from generation.tasks import production_sweep_now
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
    if request.method == "POST" and form.is_valid():
        try:
            corpus = corpus_ensure(name=form.cleaned_data["corpus"], actor=person(request))
            made = batch_top_up(corpus=corpus, wanted=form.cleaned_data["briefs"], actor=person(request))
        except StudioError as error:
            form.add_error("corpus" if error.field == "name" else None, error.message)
        else:
            if made is not None:
                production_sweep_now()
                return redirect("batch", made.uid)
            form.add_error(None, _("The corpus holds all of these already. Raise the number, or choose another seed."))
    return render(request, "generation/batch_new.html", {"form": form})


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
    return render(request, "generation/batch.html", {**context, "briefs": found.briefs.all()})


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
    if moved:
        production_sweep_now()
        said = ngettext("%(n)d dialogue is tried again.", "%(n)d dialogues are tried again.", moved) % {"n": moved}
        messages.success(request, said)
    else:
        messages.info(request, _("No dialogue of this batch failed for that reason any more."))
    return redirect("batch", uid)
