"""The one way an Event is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.db import connection, models
from django.utils import timezone

from eqstudio.bulk import rows_insert
from eqstudio.models import Event, User
from eqstudio.prepared import row_insert

_SECRET_WORDS = ("key", "token", "secret", "password")


def events_record(*, actor: User | None, verb: str, entity: str, uids: Sequence[str], detail: dict[str, Any]) -> None:
    """Insert the same Event about many rows of one kind, which ``detail`` may say of all of them. It holds no secret."""
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    told = json.dumps(detail)
    rows_insert(
        model=Event,
        columns=["created", "actor", "verb", "entity", "entity_uid", "detail"],
        rows=((now, actor.pk if actor else None, verb, entity, uid, told) for uid in uids),
    )


def event_record(*, actor: User | None, verb: str, entity: models.Model, **detail: Any) -> Event:
    """Insert one Event about ``entity`` (which has a ``uid`` or ``name``); values under secret-looking names are masked."""
    masked = {
        name: "***" if any(word in name.lower() for word in _SECRET_WORDS) else value for name, value in detail.items()
    }
    return row_insert(
        Event(
            actor=actor,
            verb=verb,
            entity=entity._meta.model_name or "",  # noqa: SLF001 -- Django's documented way to a model's options
            entity_uid=str(getattr(entity, "uid", entity.pk)),
            detail=masked,
        )
    )
