"""Answers given elsewhere: a file is looked at, taken in, and can be taken out again."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from eqstudio.errors import NotFound, StudioError
from evaluation.forms_imports import LARGEST_MB, AnswersForm
from evaluation.models import Study
from evaluation.selectors import imports_listed, study_to_curate_for
from evaluation.services import answers_withdraw, responses_import, responses_preview
from generation.views.guards import curating, person

REFUSALS_SHOWN = 20
MOST_ANSWERS = 10_000
"""A request imports at most so many; larger files go in by the command."""
MOST_LOOKED_AT = 3_000
"""Looking first does everything and rolls it back, while others wait to write."""


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def answer_imports(request: HttpRequest, uid: str) -> HttpResponse:
    """What came in, and a form for more; what was refused is said with its row."""
    study = study_to_curate_for(person(request), uid)
    form = AnswersForm(request.POST or None, request.FILES or None)
    told = None
    if request.method == "POST" and form.is_valid():
        try:
            with form.arguments() as given:
                told = responses_import(study=study, most=MOST_ANSWERS, actor=person(request), **given)
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else "file", error.message)
        else:
            if not told["refused"]:
                messages.success(request, _said(told))
                return redirect("answer_imports", uid)
    context = {"study": study, "form": form, "told": _shown(told), "most_mb": LARGEST_MB, "imports": _imports(study)}
    return render(request, "evaluation/answer_imports.html", context, status=422 if form.errors else 200)


@require_POST
@curating
def answer_import_preview(request: HttpRequest, uid: str) -> HttpResponse:
    """What an import of this file would do; stores nothing."""
    study = study_to_curate_for(person(request), uid)
    form = AnswersForm(request.POST, request.FILES)
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        try:
            with form.arguments() as given:
                context["seen"] = _shown(responses_preview(study=study, most=MOST_LOOKED_AT, **given))
        except StudioError as error:
            context["error"] = error.message
    return render(request, "evaluation/answer_import_preview.html", context)


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


def _shown(told: dict[str, Any] | None) -> dict[str, Any] | None:
    return told and {**told, "refused": told["refused"][:REFUSALS_SHOWN], "refused_count": len(told["refused"])}


def _said(told: dict[str, Any]) -> str:
    words = ngettext("%(n)d answer stored.", "%(n)d answers stored.", told["created"])
    return words % {"n": told["created"]}
