"""Sending audio from the browser, and watching it come in."""

from __future__ import annotations

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from eqstudio.errors import StudioError
from generation.models import Upload
from generation.selectors import corpus_for, upload_for, uploads_listed
from generation.services import upload_create
from generation.tasks import upload_enqueue
from generation.upload_form import UploadForm
from generation.views.guards import curating, person

PER_PAGE = 20
REFUSALS_PER_PAGE = 100


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def corpus_upload(request: HttpRequest, uid: str) -> HttpResponse:
    """A form for files; what was sent before, and what came of it."""
    corpus = corpus_for(person(request), uid)
    form = UploadForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = upload_create(
                corpus=corpus,
                files=form.cleaned_data["sent"],
                format=form.cleaned_data["format"],
                defaults=form.defaults(),
                actor=person(request),
            )
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            upload_enqueue(made.pk)
            return redirect("upload", made.uid)
    page = Paginator(uploads_listed(corpus=corpus), PER_PAGE).get_page(request.GET.get("page"))
    context = {"corpus": corpus, "form": form, "page_obj": page, "most_mb": settings.UPLOAD_MAX_BYTES // 10**6}
    return render(request, "generation/corpus_upload.html", context)


@require_safe
@curating
def upload(request: HttpRequest, uid: str) -> HttpResponse:
    """How far an upload is, and what was refused. Asked by htmx, only the part that changes."""
    found = upload_for(person(request), uid)
    page = Paginator(found.refusals.all(), REFUSALS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"upload": found, "page_obj": page, "waiting": _waiting(found)}
    part = "generation/upload_progress.html" if request.headers.get("HX-Request") else "generation/upload.html"
    return render(request, part, context)


def _waiting(upload: Upload) -> bool:
    """Whether no worker has begun, or the one that had is gone."""
    idle = upload.lease_until is None or upload.lease_until < timezone.now()
    return upload.finished_at is None and idle
