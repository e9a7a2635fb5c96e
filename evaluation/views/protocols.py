"""The protocol of a study: to be read, filled in, compared with what it was, locked, and taken away."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import NotFound, StudioError
from evaluation.domain.protocol import Protocol, protocol_diff
from evaluation.forms_protocol import ProtocolForm
from evaluation.models import ProtocolVersion, Study
from evaluation.selectors import answers_counted, protocol_of, sample_of, study_to_curate_for
from evaluation.services import protocol_lock, protocol_save, registration_build
from evaluation.services.registration import RECOMPUTE, registration_json, registration_markdown
from evaluation.views.asked import group_label
from evaluation.words_protocol import CHOICES, benchmark_names, field_label, protocol_told, value_words
from generation.views.guards import curating, person

FORMS = {"json": "application/json", "md": "text/markdown; charset=utf-8"}


@require_safe
@never_cache
@curating
def study_protocol(request: HttpRequest, uid: str) -> HttpResponse:
    """The protocol as a page to be read and printed; an older version by its number."""
    study = study_to_curate_for(person(request), uid)
    versions = list(study.protocols.select_related("created_by").order_by("-number"))
    shown = _version(versions, request.GET.get("version"))
    protocol = Protocol.model_validate(shown.content) if shown else protocol_of(study)
    document = registration_build(study=study)
    names = benchmark_names(benchmark_get(study.benchmark))
    sample = sample_of(study=study, sampling=protocol.sampling)
    context = {
        "study": study,
        "versions": versions,
        "shown": shown,
        "latest": versions[0] if versions else None,
        "blocks": protocol_told(protocol, names),
        "sample": sample,
        "strata": [(_stratum(study, protocol.sampling.by, one.name), one) for one in sample.strata],
        "missing": [_stratum(study, protocol.sampling.by, name) for name in sample.missing],
        "answered": answers_counted(study),
        "pilot": protocol.execution.pilot,
        "hash": document["hash"],
        "recompute": RECOMPUTE,
        "instructions": [(language, text) for language, text in study.instructions.items()],
    }
    return render(request, "evaluation/study_protocol.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@curating
def protocol_edit(request: HttpRequest, uid: str) -> HttpResponse:
    """Fill the protocol in; saving makes a version. What was typed is kept when something is wrong."""
    study = study_to_curate_for(person(request), uid)
    protocol = protocol_of(study)
    form = ProtocolForm(request.POST or None, study=study, protocol=protocol)
    if request.method == "POST" and form.is_valid():
        try:
            protocol_save(study=study, content=_content(form, study, protocol), actor=person(request))
        except StudioError as error:
            form.show(error.field, error.message)
        else:
            return redirect("study_protocol", uid)
    return render(
        request,
        "evaluation/study_protocol_edit.html",
        {"study": study, "form": form, "answered": answers_counted(study)},
        status=409 if study.locked_at else 200,
    )


def _content(form: ProtocolForm, study: Study, protocol: Protocol) -> dict[str, object]:
    """The form's content. A text of the instructions that is as the study has it is no change, and stays out of the protocol
    where it was out before.
    """
    content = form.content()
    written = content["execution"].get("instructions", {})
    before = protocol.execution.instructions
    content["execution"]["instructions"] = {
        language: text
        for language, text in written.items()
        if language in before or text != study.instructions.get(language, "").replace("\r\n", "\n").strip()
    }
    return content


@require_safe
@never_cache
@curating
def protocol_changes(request: HttpRequest, uid: str) -> HttpResponse:
    """What changed from one version to another, field by field."""
    study = study_to_curate_for(person(request), uid)
    versions = list(study.protocols.order_by("-number"))
    new = _version(versions, request.GET.get("to"))
    older = [one for one in versions if new and one.number < new.number]
    old = next((one for one in older if str(one.number) == request.GET.get("from")), older[0] if older else None)
    names = benchmark_names(benchmark_get(study.benchmark))
    rows = [
        (field_label(field), value_words(field, was, names), value_words(field, now, names))
        for field, was, now in (protocol_diff(old.content, new.content) if old and new else [])
    ]
    context = {"study": study, "versions": versions, "old": old, "new": new, "rows": rows}
    return render(request, "evaluation/study_protocol_changes.html", context)


@require_POST
@curating
def protocol_close(request: HttpRequest, uid: str) -> HttpResponse:
    """Lock: no version after this one."""
    study = study_to_curate_for(person(request), uid)
    try:
        protocol_lock(study=study, actor=person(request))
    except StudioError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The protocol is locked. What is answered from now on is held against it."))
    return redirect("study_protocol", uid)


@require_safe
@never_cache
@curating
def protocol_file(request: HttpRequest, uid: str, form: str) -> HttpResponse:
    """The pre-registration as a document or as JSON, with a hash that anybody can work out again."""
    study = study_to_curate_for(person(request), uid)
    if form not in FORMS:
        raise NotFound(_("There is no such form of a pre-registration."))
    document = registration_build(study=study)
    text = registration_json(document) if form == "json" else registration_markdown(study=study, document=document)
    response = HttpResponse(text, content_type=FORMS[form])
    response["Content-Disposition"] = f'attachment; filename="{study.name}-registration.{form}"'
    return response


def _stratum(study: Study, by: str, name: str) -> str:
    """What a reader calls a stratum."""
    if by == "language":
        return str(CHOICES["recruitment.languages"].get(name, name))
    return group_label(benchmark_get(study.benchmark), by, name)


def _version(versions: list[ProtocolVersion], number: str | None) -> ProtocolVersion | None:
    """The version asked for, else the latest; None where there is none at all."""
    return next((one for one in versions if str(one.number) == number), versions[0] if versions else None)
