"""Files of answers in the background: sent to a page, taken in or looked at by a worker, stopped between two items."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from eqstudio.blobs import blob_put, blob_read
from eqstudio.errors import Conflict, InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from eqstudio.payload import storable
from evaluation.models import AnswerIntake, Study
from evaluation.services.imports import (
    UNDER_WAY,
    respondent_check,
    responses_import,
    responses_preview,
    sittings_end,
)
from evaluation.services.imports_walk import Tally

log = structlog.get_logger()
LEASE = timedelta(minutes=3)
"""Renewed between items; the sweep takes up what has not been renewed for so long."""
RENEW_S = 1.0
STEP_S = 240.0
"""After this long the rest is the next step; a task has ten minutes."""
MOST_NAME = 200
REFUSALS_KEPT = 20
State = AnswerIntake.State


class _Stopped(Exception):  # noqa: N818 -- no error: somebody stopped it, or another worker has it
    pass


class _StepOver(Exception):  # noqa: N818 -- no error: the rest is the next step
    pass


@transaction.atomic
def intake_request(
    *,
    study: Study,
    data: bytes,
    name: str,
    format: str,  # noqa: A002 -- the word of the form
    respondent: str,
    look: bool = False,
    actor: User | None = None,
) -> AnswerIntake:
    """Keep a file and ask for its answers to be taken in, or only looked at; the same that is under way is returned instead.

    Inserts the row and, unless it only looks, one Event; the task is enqueued by whoever calls. InvalidInput or Conflict where
    answers cannot go under the name of the respondent.
    """
    respondent_check(study, respondent)
    asked = {"sha256": blob_put(data), "format": format, "respondent": respondent.strip(), "look": look}
    # Two clicks at once come one after the other, so that the second finds what the first asked for.
    Study.objects.select_for_update().get(pk=study.pk)
    waiting = study.answer_intakes.filter(state__in=UNDER_WAY, **asked).first()
    if waiting is not None:
        return waiting
    made = AnswerIntake.objects.create(study=study, name=name[-255:], created_by=actor, **asked)
    if not look:
        event_record(actor=actor, verb="answer_intake", entity=study, file=made.name, respondent=made.respondent)
    return made


@transaction.atomic
def intake_stop(*, intake: AnswerIntake, actor: User | None = None) -> None:
    """Stop before the next item; what has come in stays, counts, and can be taken out like any import.

    One Event, unless the file was only looked at. Conflict when it has ended.
    """
    changed = AnswerIntake.objects.filter(pk=intake.pk, state__in=UNDER_WAY)
    if not changed.update(state=State.STOPPED, lease_until=None):
        raise Conflict(_("This import has ended already, so there is nothing to stop."))
    if not intake.look:
        sittings_end(study=intake.study, name=intake.respondent)
        event_record(
            actor=actor, verb="answer_intake_stop", entity=intake.study, file=intake.name, respondent=intake.respondent
        )


def intakes_due(*, now: datetime) -> QuerySet[AnswerIntake]:
    """Those nobody works on: waiting ones, and running ones whose lease is over."""
    return AnswerIntake.objects.filter(Q(state=State.WAITING) | Q(state=State.RUNNING, lease_until__lte=now))


def intake_run(*, intake_id: int, now: datetime, step_s: float = STEP_S) -> AnswerIntake:
    """Take the answers in, or look at them; run twice, or again after a kill, each comes in once.

    Claims the row by one conditional UPDATE and renews its lease between items. Ends DONE with what came of it, FAILED with
    what is wrong, in the language of whoever sent the file, or WAITING where the time of a step is over. Where the database
    is away or the task takes too long, that error is raised: the sweep takes the row up again.
    """
    lease = now + LEASE
    claimed = intakes_due(now=now).filter(pk=intake_id).update(state=State.RUNNING, lease_until=lease)
    intake = AnswerIntake.objects.select_related("study__split", "created_by").get(pk=intake_id)
    if not claimed:
        return intake
    language = intake.created_by.language if intake.created_by else settings.LANGUAGE_CODE
    with translation.override(language):
        _step(intake, _Mine(intake, lease, time.monotonic() + step_s))
    intake.refresh_from_db()
    return intake


def _step(intake: AnswerIntake, mine: _Mine) -> None:
    try:
        told = _told(intake, mine)
    except _Stopped:
        pass
    except _StepOver:
        mine.update(state=State.WAITING, lease_until=None, **mine.so_far())
    except StudioError as error:
        mine.update(state=State.FAILED, error=error.message, lease_until=None)
    except (OperationalError, SoftTimeLimitExceeded):
        raise
    except Exception:
        # A file may hold anything. What no reader foresaw would go wrong again, so it is not tried for ever.
        log.exception("a file of answers could not be taken in", intake=intake.uid)
        told_of = _("This file could not be read to its end; the log of the worker says why. What had come in stays.")
        mine.update(state=State.FAILED, error=told_of, lease_until=None)
    else:
        mine.update(state=State.DONE, told=told, done=mine.total, total=mine.total, lease_until=None)


class _Mine:
    """A claimed intake: every change asks whether it is still ours."""

    def __init__(self, intake: AnswerIntake, lease: datetime, until: float) -> None:
        self.intake, self.lease, self.until = intake, lease, until
        self.renewed, self.total = 0.0, 0
        self.tally = Tally() if intake.look else Tally(**intake.told)
        self.start = self.tally.done

    def update(self, **changed: Any) -> bool:
        held = AnswerIntake.objects.filter(pk=self.intake.pk, state=State.RUNNING, lease_until=self.lease)
        return bool(held.update(**storable(changed)))

    def so_far(self) -> dict[str, Any]:
        """What the next step, or one after a kill, goes on from."""
        if self.intake.look:
            return {}
        kept = self.tally.refused[:REFUSALS_KEPT]
        return {"done": self.tally.done, "total": self.total, "told": asdict(self.tally) | {"refused": kept}}

    def progress(self, done: int, total: int) -> None:
        """Called between items. A step does at least one, so that also a file that takes long to read comes to its end."""
        now, self.total = time.monotonic(), total
        if now >= self.until and done > self.start and not self.intake.look:
            raise _StepOver
        if now - self.renewed < RENEW_S:
            return
        lease = timezone.now() + LEASE
        if not self.update(**{"lease_until": lease, "done": done, "total": total, **self.so_far()}):
            raise _Stopped
        self.renewed, self.lease = now, lease


def _told(intake: AnswerIntake, mine: _Mine) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / _short(intake.name)
        path.write_bytes(_bytes(intake))
        given: dict[str, Any] = {
            "study": intake.study,
            "path": path,
            "file_name": intake.name,
            "format": intake.format,
            "name": intake.respondent,
            "progress": mine.progress,
        }
        if intake.look:
            told = responses_preview(**given)
            count = len(told["refused"])
        else:
            told = responses_import(**given, actor=intake.created_by, begun=intake.created, tally=mine.tally)
            count = mine.tally.refused_count
    return {**told, "refused": told["refused"][:REFUSALS_KEPT], "refused_count": count}


def _bytes(intake: AnswerIntake) -> bytes:
    try:
        return blob_read(intake.sha256)
    except FileNotFoundError as error:
        raise InvalidInput(_("This file is no longer stored; please send it again.")) from error


def _short(name: str) -> str:
    """The name of an upload, which errors name, as long as any file system takes: its end holds the kind of file."""
    return name.encode()[-MOST_NAME:].decode(errors="ignore")
