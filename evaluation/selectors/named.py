"""Studies by the names that commands use."""

from __future__ import annotations

from eqstudio.errors import NotFound
from evaluation.models import Study


def study_named(name: str) -> Study:
    found = Study.objects.select_related("split").filter(name=name).first()
    if found is None:
        known = ", ".join(Study.objects.values_list("name", flat=True)[:20]) or "none"
        raise NotFound(f"There is no study {name!r}. Known: {known}.", field="study")
    return found
