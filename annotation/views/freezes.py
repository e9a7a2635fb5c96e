"""A freeze that was asked for: how far it is, what came of it, and how to stop it."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from annotation.domain.curation import Recipe
from annotation.models import Freeze
from annotation.selectors import freeze_for
from annotation.services import freeze_request, freeze_stop
from annotation.tasks import freeze_task
from eqstudio.models import User
from generation.views.guards import curating, person


def freeze_begin(*, name: str, recipe: Recipe, actor: User) -> HttpResponse:
    """Ask for a freeze, give it to the worker, and show how far it is."""
    with transaction.atomic():
        freeze = freeze_request(name=name, recipe=recipe, actor=actor)
        transaction.on_commit(partial(freeze_task.delay, freeze.pk), robust=True)
    return redirect("freeze", freeze.uid)


@require_safe
@never_cache
@curating
def freeze_page(request: HttpRequest, uid: str) -> HttpResponse:
    """How far a freeze is; once it has frozen something, that."""
    found = freeze_for(person(request), uid)
    if found.split is not None:
        messages.success(request, _("%(split)s is frozen. Nothing about it will change.") % {"split": found.split})
        return redirect("split", found.split.uid)
    return render(request, "annotation/freeze.html", _context(found))


@require_safe
@never_cache
@curating
def freeze_part(request: HttpRequest, uid: str) -> HttpResponse:
    """The part of the page that is fetched again while the freeze is under way."""
    found = freeze_for(person(request), uid)
    if found.split is not None:
        return HttpResponseClientRedirect(reverse("freeze", args=[found.uid]))
    return render(request, "annotation/freeze_part.html", _context(found))


@require_POST
@curating
def freeze_end(request: HttpRequest, uid: str) -> HttpResponse:
    """Stop a freeze; nothing is frozen by it then."""
    found = freeze_for(person(request), uid)
    freeze_stop(freeze=found, actor=person(request))
    messages.success(request, _("The freeze is stopped. Nothing was frozen; its recipe is kept here."))
    return redirect("freeze", found.uid)


def _context(found: Freeze) -> dict[str, Any]:
    return {
        "freeze": found,
        "under_way": found.state in (Freeze.State.WAITING, Freeze.State.RUNNING),
        "writing": found.state == Freeze.State.RUNNING and 0 < found.total == found.done,
        "recipe": [(name, _told(value)) for name, value in Recipe.from_dict(found.recipe).told().items()],
    }


def _told(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value
