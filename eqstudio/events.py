"""The one way an Event is written."""

from __future__ import annotations

from typing import Any

from django.db import models

from eqstudio.models import Event, User
from eqstudio.prepared import row_insert

_SECRET_WORDS = ("key", "token", "secret", "password")


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
