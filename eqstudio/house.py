"""The admin's part of the home page: people and health."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Q

from eqstudio.access import can_administer
from eqstudio.home import Panel
from eqstudio.models import Role, User


def panels(user: User, now: datetime) -> Iterator[Panel]:  # noqa: ARG001 -- every source of panels takes the time
    if not can_administer(user):
        return
    counts = User.objects.filter(is_active=True).aggregate(
        people=Count("pk", distinct=True),
        annotators=Count("pk", filter=Q(groups__name=Role.ANNOTATOR.value), distinct=True),
        researchers=Count("pk", filter=Q(groups__name=Role.RESEARCHER.value), distinct=True),
        admins=Count("pk", filter=Q(groups__name=Role.ADMIN.value), distinct=True),
        without_role=Count("pk", filter=Q(groups=None, is_superuser=False), distinct=True),
        never=Count("pk", filter=Q(last_login=None), distinct=True),
    )
    yield Panel("eqstudio/home_people.html", counts, order=60, aside=True)
    yield Panel("eqstudio/home_health.html", order=70, aside=True)
