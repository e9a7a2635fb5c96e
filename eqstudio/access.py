"""Who may do what: small predicates with sentence names, and the guards that views use."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import rules
from django.contrib.auth.models import Group
from django.db import models
from django.utils.translation import gettext as _

from eqstudio.errors import Forbidden, NotFound
from eqstudio.models import Role, User
from eqstudio.prepared import Prepared
from eqstudio.words import ENTITIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest, HttpResponse

M = TypeVar("M", bound=models.Model)
V = TypeVar("V", bound="Callable[..., Any]")
GUEST = "guest"
"""The group of people without an account: they came by a link to one page of work and see nothing else. No role."""


_ROLES = Prepared[str](lambda person: Group.objects.filter(user=person).order_by().values_list("name", flat=True))


def _in_group(user: User, role: Role) -> bool:
    if not getattr(user, "is_authenticated", False) or not user.is_active:
        return False
    return role.value in role_names(user)


def role_names(user: User) -> frozenset[str]:
    """The roles of ``user``, read once per request; a superuser is an admin."""
    cached: frozenset[str] | None = getattr(user, "_role_names", None)
    if cached is None:
        names = set(_ROLES.rows(person=user.pk))
        if user.is_superuser:
            names.add(Role.ADMIN.value)
        cached = frozenset(names)
        user._role_names = cached  # type: ignore[attr-defined]  # noqa: SLF001 -- kept on the person for one request
    return cached


@rules.predicate  # type: ignore[untyped-decorator]
def is_annotator(user: User) -> bool:
    return _in_group(user, Role.ANNOTATOR)


@rules.predicate  # type: ignore[untyped-decorator]
def is_researcher(user: User) -> bool:
    return _in_group(user, Role.RESEARCHER)


@rules.predicate  # type: ignore[untyped-decorator]
def is_admin(user: User) -> bool:
    return _in_group(user, Role.ADMIN)


@rules.predicate  # type: ignore[untyped-decorator]
def is_guest(user: User) -> bool:
    return bool(getattr(user, "is_authenticated", False)) and user.is_active and GUEST in role_names(user)


can_annotate = is_annotator
can_curate = is_researcher | is_admin
can_administer = is_admin
can_sit_exam = is_annotator | is_researcher | is_admin


def role_require(predicate: Callable[[Any], bool]) -> Callable[..., Any]:
    """Decorate a view: a signed-in person whose role does not pass gets 403. Sign-in itself is the middleware's work."""

    def decorate(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not predicate(request.user):
                raise Forbidden(_("Your role does not include this page."))
            return view(request, *args, **kwargs)

        return guarded

    return decorate


def guests_welcome(view: V) -> V:
    """Decorate a view that a guest may open; every other one does not exist for them."""
    view.guests_welcome = True  # type: ignore[attr-defined]
    return view


def object_for(
    user: User,
    queryset: models.QuerySet[M],
    *,
    may_know: Callable[[Any], bool],
    may_do: Callable[[Any], bool],
    **lookup: Any,
) -> M:
    """Fetch one object for a person: outsiders get NotFound (404), a wrong role gets Forbidden (403).

    ``may_know`` says who may learn that such objects exist, ``may_do`` who may use them.
    """
    found = queryset.filter(**lookup).first()
    return object_or_refuse(user, found, model=queryset.model, may_know=may_know, may_do=may_do)


def object_or_refuse(
    user: User,
    found: M | None,
    *,
    model: type[M],
    may_know: Callable[[Any], bool],
    may_do: Callable[[Any], bool],
) -> M:
    """What ``object_for`` says of an object that was looked for already."""
    options = model._meta  # noqa: SLF001 -- Django's documented way to a model's options
    thing = ENTITIES.get(options.model_name or "", options.verbose_name)
    if found is None or not may_know(user):
        raise NotFound(_("There is no such %(thing)s.") % {"thing": thing})
    if not may_do(user):
        raise Forbidden(_("Your role may not use this %(thing)s.") % {"thing": thing})
    return found
