"""Studies by the names that commands use."""

from __future__ import annotations

from eqstudio.errors import NotFound
from evaluation.models import Respondent, Study


def study_named(name: str) -> Study:
    found = Study.objects.select_related("split").filter(name=name).first()
    if found is None:
        known = ", ".join(Study.objects.values_list("name", flat=True)[:20]) or "none"
        raise NotFound(f"There is no study {name!r}. Known: {known}.", field="study")
    return found


def hears_everywhere(*, study: Study) -> bool:
    """Whether every model of a study was given the sound as people hear it: no run went by words, silence or another's sound."""
    runs = Respondent.objects.filter(study=study, kind=Respondent.Kind.MODEL, run_spec__isnull=False)
    return not runs.exclude(run_spec__content__evaluator="mcq").exists()
