"""The data and figures of a study, to be published."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from evaluation.selectors import study_to_curate_for
from evaluation.services import release_build
from generation.views.guards import curating, person


@require_safe
@curating
def study_release(request: HttpRequest, uid: str) -> HttpResponse:
    """Answers under pseudonyms, codebook, figures, and the script that works them out again."""
    study = study_to_curate_for(person(request), uid)
    response = HttpResponse(release_build(study=study), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{study.name}-release.zip"'
    return response
