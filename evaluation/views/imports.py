"""Answers given elsewhere: a file is looked at, taken in, and can be taken out again."""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from eqstudio.errors import NotFound, StudioError
from evaluation.forms_imports import LARGEST_MB, AnswersForm
from evaluation.models import Study
from evaluation.selectors import imports_listed, study_to_curate_for
from evaluation.services import answers_withdraw
from evaluation.services.imports import UNDER_WAY
from evaluation.services.intakes import intake_request, intake_stop
from evaluation.tasks import answers_take
from generation.views.guards import curating, person

SHOWN = 3
"""So many files that ended last are told about, beside all that are under way."""


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@curating
def answer_imports(request: HttpRequest, uid: str) -> HttpResponse:
    """What came in, and a form for more: a worker takes the file in, or looks at it, while the page tells how far it is."""
    study = study_to_curate_for(person(request), uid)
    form = AnswersForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            _take(request, study, form)
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else "file", error.message)
        else:
            return redirect(f"{reverse('answer_imports', args=[uid])}#intakes")
    context = {"form": form, "most_mb": LARGEST_MB, "imports": _imports(study), **_intakes(study)}
    return render(request, "evaluation/answer_imports.html", context, status=422 if form.errors else 200)


def _take(request: HttpRequest, study: Study, form: AnswersForm) -> None:
    sent = form.cleaned_data
    with transaction.atomic():
        intake = intake_request(
            study=study,
            data=sent["file"].read(),
            name=PurePath(sent["file"].name).name,
            format=sent["format"],
            respondent=sent["respondent"],
            look="look" in request.POST,
            actor=person(request),
        )
        transaction.on_commit(partial(answers_take.delay, intake.pk), robust=True)


@require_safe
@never_cache
@curating
def answer_intakes(request: HttpRequest, uid: str) -> HttpResponse:
    """The part of the page that is fetched again while a file is under way; with the list of imports when one has ended."""
    study = study_to_curate_for(person(request), uid)
    context = _intakes(study)
    if set(request.GET.getlist("was")) - {one.uid for one in context["under_way"]}:
        context |= {"imports": _imports(study), "part": True}
    return render(request, "evaluation/parts/intakes.html", context)


@require_POST
@curating
def answer_intake_stop(request: HttpRequest, uid: str) -> HttpResponse:
    """Stop taking a file in; what has come in stays."""
    study = study_to_curate_for(person(request), uid)
    intake = study.answer_intakes.filter(uid=request.POST.get("intake", "")).first()
    if intake is None:
        raise NotFound(_("There is no such file in this study."))
    try:
        intake_stop(intake=intake, actor=person(request))
    except StudioError as error:
        messages.error(request, error.message)
    return redirect(f"{reverse('answer_imports', args=[uid])}#intakes")


def _intakes(study: Study) -> dict[str, Any]:
    ended = study.answer_intakes.exclude(state__in=UNDER_WAY).values("pk")[:SHOWN]
    found = list(study.answer_intakes.filter(Q(state__in=UNDER_WAY) | Q(pk__in=ended)))
    return {"study": study, "intakes": found, "under_way": [one for one in found if one.state in UNDER_WAY]}


@require_POST
@curating
def answer_import_withdraw(request: HttpRequest, uid: str) -> HttpResponse:
    """Take one import out of the figures again."""
    study = study_to_curate_for(person(request), uid)
    source = study.answer_imports.filter(uid=request.POST.get("import", "")).first()
    if source is None:
        raise NotFound(_("There is no such import in this study."))
    try:
        answers_withdraw(source=source, reason=request.POST.get("reason", ""), actor=person(request))
    except StudioError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The import is taken out. Its answers stay stored and enter no figure."))
    return redirect("answer_imports", uid)


def _imports(study: Study) -> list[Any]:
    return list(imports_listed(study=study))
