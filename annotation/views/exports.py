"""How a split leaves: asked for, watched, tried again, downloaded."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.core.files.storage import default_storage
from django.db import transaction
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.forms_export import LABELS, ExportForm, formats_of
from annotation.models import Export, Split
from annotation.selectors import export_for, split_for
from annotation.services import export_request, export_retry
from annotation.services.export_jobs import export_key
from annotation.tasks import export_run
from eqstudio.errors import Conflict, InvalidInput, NotFound
from eqstudio.views.parts import part_render
from generation.views.guards import curating, person


def exports_context(split: Split) -> dict[str, Any]:
    """What the exports of a split's page show."""
    exports = list(split.exports.select_related("created_by"))
    unfinished = any(found.state in (Export.State.WAITING, Export.State.RUNNING) for found in exports)
    rows = [(export, LABELS.get(export.format, export.format)) for export in exports]
    return {"split": split, "exports": rows, "unfinished": unfinished}


@require_safe
@curating
def split_exports(request: HttpRequest, uid: str) -> HttpResponse:
    """The list of exports, fetched again while one is being written."""
    split = split_for(person(request), uid)
    back = {"title": _("Exports"), "back": reverse("split", args=[uid]), "back_name": str(split)}
    return part_render(request, "annotation/split_exports.html", exports_context(split), **back)


@require_POST
@curating
def split_export(request: HttpRequest, uid: str) -> HttpResponse:
    """Ask for an export; the worker writes it."""
    found = split_for(person(request), uid)
    form = ExportForm(request.POST, benchmark=found.benchmark)
    if not form.is_valid():
        if "format" in form.errors:
            known = ", ".join(sorted(alias for alias, _label in formats_of(found.benchmark)))
            raise InvalidInput(
                _("A split of this benchmark has no such format. Known: %(known)s.") % {"known": known}, field="format"
            )
        field, problems = next(iter(form.errors.items()))
        raise InvalidInput(f"{form.fields[field].label}: {problems[0]}", field=field)
    with transaction.atomic():
        export = export_request(split=found, **form.arguments(), actor=person(request))
        transaction.on_commit(partial(export_run.delay, export.pk), robust=True)
    messages.success(request, _("The export is being written. It can be downloaded here as soon as it is whole."))
    return redirect("split", found.uid)


@require_POST
@curating
def export_again(request: HttpRequest, uid: str) -> HttpResponse:
    """Try a failed export again; what it had written is kept."""
    export = export_for(person(request), uid)
    with transaction.atomic():
        export_retry(export=export, actor=person(request))
        transaction.on_commit(partial(export_run.delay, export.pk), robust=True)
    messages.success(request, _("The export goes on where it failed."))
    return redirect("split", export.split.uid)


@require_safe
def split_download(request: HttpRequest, uid: str) -> HttpResponseBase:
    """The zip of a finished export, streamed."""
    export = export_for(person(request), uid)
    if export.state != Export.State.DONE:
        raise Conflict(_("This export is not finished yet. Look at the split's page for how far it is."))
    try:
        handle = default_storage.open(export_key(export))
    except FileNotFoundError as error:
        raise NotFound(_("The file of this export is gone. Ask for a new one on the split's page.")) from error
    return FileResponse(handle, as_attachment=True, filename=f"{export.split}-{export.format}.zip")
