"""People: who is here, with which roles; invitations; accounts switched off and on."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from eqstudio.access import can_administer, role_require
from eqstudio.accounts import sign_in_link
from eqstudio.errors import StudioError
from eqstudio.events import event_record
from eqstudio.home import person_counts
from eqstudio.models import Role
from eqstudio.people_forms import InviteForm, PersonForm
from eqstudio.selectors import events_list, people_list, person_for
from eqstudio.services import person_activation_set, person_invite, person_roles_set, person_update

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from eqstudio.models import User

PEOPLE_PER_PAGE = 50
EVENTS_SHOWN = 10


@require_GET
@role_require(can_administer)
def people(request: HttpRequest) -> HttpResponse:
    role, query = request.GET.get("role", ""), request.GET.get("q", "").strip()
    page = Paginator(people_list(role=role, query=query), PEOPLE_PER_PAGE).get_page(request.GET.get("page"))
    ids = [person.pk for person in page]
    columns = [column for source in person_counts for column in source(ids)]
    rows = [
        {
            "person": person,
            "roles": [Role(group.name).label for group in person.groups.all() if group.name in Role.values],
            "counts": [column.by_person.get(person.pk, 0) for column in columns],
        }
        for person in page
    ]
    context = {
        "page_obj": page,
        "rows": rows,
        "columns": columns,
        "role": role,
        "query": query,
        "role_choices": Role.choices,
    }
    return render(request, "eqstudio/people.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@role_require(can_administer)
def person_new(request: HttpRequest) -> HttpResponse:
    """Invite somebody. The answer to the form shows their sign-in link, this once."""
    form = InviteForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            person = person_invite(actor=cast("User", request.user), **form.cleaned_data)
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            return render(
                request,
                "eqstudio/person_link.html",
                {"person": person, "link": sign_in_link(user=person, request=request)},
            )
    return render(request, "eqstudio/person_new.html", {"form": form}, status=422 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@role_require(can_administer)
def person(request: HttpRequest, uid: str) -> HttpResponse:
    actor = cast("User", request.user)
    somebody = person_for(actor, uid)
    known = {
        "name": somebody.display_name,
        "email": somebody.email,
        "language": somebody.language,
        "roles": [group.name for group in somebody.groups.all()],
        "skills": somebody.skills,
        "speaks": somebody.speaks,
    }
    form = PersonForm(request.POST or None, initial=known)
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            person_roles_set(person=somebody, roles=given["roles"], actor=actor)
            told = {name: given[name] for name in ("name", "email", "language", "skills", "speaks")}
            person_update(person=somebody, actor=actor, **told)
        except StudioError as error:
            form.add_error(error.field if error.field in form.fields else None, error.message)
        else:
            messages.success(request, _("%(name)s: saved.") % {"name": somebody})
            return redirect("people")
    events = events_list(entity="user", entity_uid=somebody.uid)[:EVENTS_SHOWN]
    context = {"person": somebody, "form": form, "events": events}
    return render(request, "eqstudio/person.html", context, status=422 if form.errors else 200)


@require_POST
@role_require(can_administer)
def person_activation(request: HttpRequest, uid: str) -> HttpResponse:
    actor = cast("User", request.user)
    somebody = person_activation_set(
        person=person_for(actor, uid), active=request.POST.get("active") == "yes", actor=actor
    )
    word = (
        _("%(name)s can sign in again.")
        if somebody.is_active
        else _("%(name)s cannot sign in any more. What they did stays.")
    )
    messages.success(request, word % {"name": somebody})
    return redirect("person", uid=uid)


@require_POST
@never_cache
@role_require(can_administer)
def person_link(request: HttpRequest, uid: str) -> HttpResponse:
    """A new sign-in link for somebody who lost their password, shown this once."""
    actor = cast("User", request.user)
    somebody = person_for(actor, uid)
    event_record(actor=actor, verb="sign-in link made", entity=somebody)
    return render(
        request, "eqstudio/person_link.html", {"person": somebody, "link": sign_in_link(user=somebody, request=request)}
    )
