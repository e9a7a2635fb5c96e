"""Reads about people and about what they did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from eqstudio.access import GUEST, can_administer, object_for
from eqstudio.models import Event, User

if TYPE_CHECKING:
    from django.db.models import QuerySet


def person_for(user: User, uid: str) -> User:
    """The person ``uid``, for admins."""
    return object_for(user, User.objects.all(), may_know=can_administer, may_do=can_administer, uid=uid)


def people_list(*, role: str = "", query: str = "") -> QuerySet[User]:
    """People by name, those who are switched off last; groups come with them. Guests of a study are listed there."""
    people = User.objects.exclude(groups__name=GUEST).prefetch_related("groups").order_by("-is_active", "username")
    if role:
        people = people.filter(groups__name=role)
    if query:
        people = people.filter(
            Q(username__icontains=query) | Q(display_name__icontains=query) | Q(email__icontains=query)
        )
    return people


def events_list(*, entity: str = "", entity_uid: str = "", actor: str = "") -> QuerySet[Event]:
    """Events, latest first, with their actors."""
    events = Event.objects.select_related("actor")
    if entity:
        events = events.filter(entity=entity)
    if entity_uid:
        events = events.filter(entity_uid=entity_uid)
    if actor:
        events = events.filter(actor__username=actor)
    return events


def event_entities() -> list[str]:
    """The kinds of things that events are about."""
    return list(Event.objects.order_by("entity").values_list("entity", flat=True).distinct())
