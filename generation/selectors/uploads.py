"""Uploads: whose turn it is, and what a page shows of one."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, QuerySet

from eqstudio.access import can_curate, can_sit_exam, object_for
from eqstudio.models import User
from generation.models import Corpus, Upload


def upload_for(user: User, uid: str) -> Upload:
    """An upload for a researcher or admin; others who belong here get 403, outsiders 404."""
    found = Upload.objects.select_related("corpus", "created_by")
    return object_for(user, found, may_know=can_sit_exam, may_do=can_curate, uid=uid)


def uploads_listed(*, corpus: Corpus) -> QuerySet[Upload]:
    """What was sent to a corpus, newest first; one query."""
    return corpus.uploads.select_related("created_by").order_by("-created", "-pk")


def uploads_due(*, now: datetime) -> list[int]:
    """Uploads that nobody reads: new ones, and those whose worker died."""
    idle = Q(lease_until=None) | Q(lease_until__lt=now)
    return list(Upload.objects.filter(idle, finished_at=None).order_by("pk").values_list("pk", flat=True)[:100])
