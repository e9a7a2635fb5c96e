"""Splits: what would go in, what is in, may it be released, and how it leaves."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms import SplitForm
from annotation.forms_export import ExportForm
from annotation.models import Split
from annotation.selectors import split_audit, split_for
from annotation.selectors.preview import split_preview
from annotation.services import split_freeze
from annotation.views.exports import exports_context
from eqstudio.errors import StudioError
from eqstudio.estimates import Estimate
from generation.models import LANGUAGES
from generation.views.guards import curating, person
from generation.views.shortcuts import rule_row
from generation.words import category_label

PER_PAGE = 50
CHECK_LABELS = {
    "texts": gettext_lazy("Dialogues with the same words"),
    "titles": gettext_lazy("Dialogues with the same title"),
    "speakers": gettext_lazy("Dialogues whose speakers bear the same names"),
    "clips": gettext_lazy("Dialogues that contain the same recording"),
}


@require_safe
@curating
def splits(request: HttpRequest) -> HttpResponse:
    """All frozen splits, newest version first."""
    found = Split.objects.select_related("round", "corpus").defer("manifest")
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "annotation/splits.html", {"page_obj": page})


@require_http_methods(["GET", "HEAD", "POST"])
@curating
def split_new(request: HttpRequest) -> HttpResponse:
    """Choose where items come from and which, see what that gives, and freeze it."""
    form = SplitForm(request.POST or None, initial=_initial(request))
    counting = "count" in request.POST
    if request.method == "POST" and not counting and form.is_valid():
        try:
            made = split_freeze(
                name=form.cleaned_data["name"],
                **form.source_arguments(),
                recipe=form.recipe(),
                actor=person(request),
                now=timezone.now(),
            )
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("%(split)s is frozen. Nothing about it will change.") % {"split": made})
            return redirect("split", made.uid)
    failed = not counting and bool(form.errors)
    context = {"form": form, **_preview(form)}
    return render(request, "annotation/split_new.html", context, status=422 if failed else 200)


def _initial(request: HttpRequest) -> dict[str, str]:
    for kind in ("round", "corpus"):
        if uid := request.GET.get(kind):
            return {"source": f"{kind}:{uid}"}
    return {}


def _preview(form: SplitForm) -> dict[str, Any]:
    """What the recipe would take; nothing while it is not filled in. The name does not matter yet."""
    if not form.is_bound:
        return {"preview": None}
    form.is_valid()
    if any(field in form.errors for field in form.fields if field != "name"):
        return {"preview": None}
    preview = split_preview(**form.source_arguments(), recipe=form.recipe())
    alias = preview.benchmarks[0][0] if len(preview.benchmarks) == 1 else ""
    return {
        "preview": preview,
        "categories": [(category_label(alias, key) if alias else key, count) for key, count in preview.categories],
        "languages": [(dict(LANGUAGES).get(key, key), count) for key, count in preview.languages],
    }


@require_safe
@curating
def split_counts(request: HttpRequest) -> HttpResponse:
    """What the form as it stands would take, for the page to show while it is filled in."""
    return render(request, "annotation/split_counts.html", _preview(SplitForm(request.GET)))


@require_safe
@curating
def split_page(request: HttpRequest, uid: str) -> HttpResponse:
    """One version: what is in it, by which recipe, and its exports."""
    found = split_for(person(request), uid)
    items = found.items.select_related("dialogue")
    page = Paginator(items, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "split": found,
        "recipe": [(name, value) for name, value in found.recipe.items() if value],
        "code": found.manifest.get("code", {}),
        "benchmark_version": found.manifest.get("benchmark_version", ""),
        "versions": Split.objects.filter(name=found.name)
        .exclude(pk=found.pk)
        .only("uid", "name", "version", "item_count"),
        "page_obj": page,
        "rows": [(item, category_label(item.dialogue.benchmark, item.dialogue.category)) for item in page],
        "export_form": ExportForm(benchmark=found.benchmark),
        **exports_context(found),
    }
    return render(request, "annotation/split.html", context)


@require_safe
@curating
def split_audit_part(request: HttpRequest, uid: str) -> HttpResponse:
    """The audit, fetched by the page because it reads every item."""
    found = split_for(person(request), uid)
    audit = split_audit(split=found)
    shortcuts = [rule_row(row["cue"], Estimate(**row["accuracy"]), warns=row["warns"]) for row in audit["shortcuts"]]
    checks = [{**check, "label": CHECK_LABELS.get(check["name"], check["message"])} for check in audit["checks"]]
    return render(request, "annotation/split_audit.html", {"checks": checks, "shortcuts": shortcuts})
