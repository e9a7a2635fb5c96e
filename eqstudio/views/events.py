"""Who did what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.shortcuts import render
from django.views.decorators.http import require_safe

from eqstudio.access import can_administer, role_require
from eqstudio.selectors import event_entities, events_list

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

EVENTS_PER_PAGE = 50


@require_safe
@role_require(can_administer)
def events(request: HttpRequest) -> HttpResponse:
    entity, uid, actor = (request.GET.get(name, "").strip() for name in ("entity", "uid", "actor"))
    page = Paginator(events_list(entity=entity, entity_uid=uid, actor=actor), EVENTS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    context = {"page_obj": page, "entities": event_entities(), "entity": entity, "entity_uid": uid, "actor": actor}
    return render(request, "eqstudio/events.html", context)
