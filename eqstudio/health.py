"""Is everything working? Four probes, each with a deadline; words for people, a status for machines."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from celery import current_app
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import Error as DatabaseError
from django.db import connection
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from kombu.exceptions import OperationalError

from eqstudio.blobs import STORAGE_ERRORS, blob_same
from eqstudio.home import stored_names, work_ages

if TYPE_CHECKING:
    from collections.abc import Callable

STALLED_AFTER = timedelta(minutes=10)
BROKER_TIMEOUT_S = 2.0
LOOKED_AT = 3
"""Stored sounds that are read and held against their names, others each time."""


@dataclass(frozen=True)
class Probe:
    """One part of the studio: whether it works, in words that give nothing away, and how long the look took."""

    name: str
    label: Any
    ok: bool
    message: Any
    took_ms: int


def health_probe(*, now: datetime) -> list[Probe]:
    """Look at database, broker, storage and queue. Writes and removes one small file in the storage, and reads a few clips."""
    return [
        _timed("database", _("Database"), _database),
        _timed("broker", _("Broker"), _broker),
        _timed("storage", _("Storage"), _storage),
        _timed("queue", _("Queue"), lambda: _queue(now)),
    ]


def _timed(name: str, label: Any, look: Callable[[], tuple[bool, Any]]) -> Probe:
    started = time.monotonic()
    ok, message = look()
    return Probe(name, label, ok, message, round((time.monotonic() - started) * 1000))


def _database() -> tuple[bool, Any]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except DatabaseError:
        return False, _("The database does not answer.")
    return True, _("answers")


def _broker() -> tuple[bool, Any]:
    try:
        with current_app.connection_for_write(connect_timeout=BROKER_TIMEOUT_S) as broker:
            broker.ensure_connection(
                max_retries=1, interval_start=0, timeout=BROKER_TIMEOUT_S, reraise_as_library_errors=True
            )
            if broker.transport.driver_type == "redis":
                broker.default_channel.client.ping()
    except (OperationalError, OSError, *current_app.connection_for_write().connection_errors):
        return False, _("The broker does not answer; work that is due waits and nothing is lost.")
    return True, _("answers")


def _storage() -> tuple[bool, Any]:
    word = uuid.uuid4().hex.encode()
    try:
        name = default_storage.save(f"health/{uuid.uuid4().hex}", ContentFile(word))
        try:
            with default_storage.open(name, "rb") as handle:
                same = handle.read() == word
        finally:
            default_storage.delete(name)
    except STORAGE_ERRORS:
        return False, _("The storage cannot be written or read.")
    if not same:
        return False, _("The storage gave back other bytes than it was given.")
    try:
        whole = all(blob_same(name) for source in stored_names for name in source(LOOKED_AT))
    except STORAGE_ERRORS:
        return False, _("The storage cannot be written or read.")
    except DatabaseError:
        return True, _("writes and reads")  # what the database does not tell is its own probe's to say
    return (True, _("writes and reads")) if whole else (False, _("A stored sound is gone, or no longer what it was."))


def _queue(now: datetime) -> tuple[bool, Any]:
    try:
        ages = [source(now) for source in work_ages]
    except DatabaseError:
        return False, _("The queue cannot be read.")
    due = min((age.oldest_due for age in ages if age.oldest_due), default=None)
    if due is None:
        return True, _("nothing waits")
    minutes = max(0, round((now - due).total_seconds() / 60))
    waits = ngettext("the oldest step has waited %(n)d minute", "the oldest step has waited %(n)d minutes", minutes) % {
        "n": minutes
    }
    progress = max((age.last_progress for age in ages if age.last_progress), default=None)
    stalled = now - due > STALLED_AFTER and (progress is None or now - progress > STALLED_AFTER)
    return not stalled, waits
