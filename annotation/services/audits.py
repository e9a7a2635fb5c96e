"""Audits are asked for, made and kept here; the prints of recordings are made on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import numpy as np
import soxr
from celery.exceptions import SoftTimeLimitExceeded
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.domain.leakage_audio import RATE, VERSION, Print, print_of
from annotation.models import ClipPrint, Split, SplitAudit
from annotation.selectors.audit import Progress, split_audit
from eqstudio.blobs import blob_read
from eqstudio.errors import Conflict, InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from generation.intake import audio_decode
from generation.models import Clip

LEASE = timedelta(minutes=10)
"""Renewed as it goes; the longest that goes without is the part of people."""
STEP = timedelta(minutes=3)
"""Recordings are measured for so long, then the rest is for the next task, which may take ten minutes."""
State, Part = SplitAudit.State, SplitAudit.Part
UNDER_WAY = (State.WAITING, State.RUNNING)
_TELL_EVERY_S = 0.5
_BEGUN = {"part": "", "part_began": None, "done": 0, "total": 0}
_UNREADABLE_SHOWN = 100
_BATCH = 50


class _Stopped(Exception):  # noqa: N818 -- no error: somebody stopped it, or another worker has it
    pass


class _StepOver(Exception):  # noqa: N818 -- no error: the next task goes on here
    pass


@transaction.atomic
def audit_request(*, split: Split, against: Split | None = None, actor: User | None = None) -> SplitAudit:
    """Ask for an audit; one that waits or runs already is returned instead. Inserts the row, writes one Event."""
    if against is not None and against.pk == split.pk:
        raise InvalidInput(_("A split is held against another one, not against itself."), field="against")
    waiting = SplitAudit.objects.filter(split=split, against=against, state__in=UNDER_WAY).first()
    if waiting is not None:
        return waiting
    audit = SplitAudit.objects.create(split=split, against=against, created_by=actor)
    event_record(actor=actor, verb="asked for audit", entity=split, audit=audit.uid, against=str(against or ""))
    return audit


def audits_due(*, now: datetime) -> QuerySet[SplitAudit]:
    """Audits nobody works on: waiting ones, and running ones whose lease is over."""
    return SplitAudit.objects.filter(Q(state=State.WAITING) | Q(state=State.RUNNING, lease_until__lte=now))


@transaction.atomic
def audit_stop(*, audit: SplitAudit, actor: User | None = None) -> SplitAudit:
    """Stop an audit; recordings that were measured stay measured. One Event. Conflict when it has ended already."""
    mine = SplitAudit.objects.filter(pk=audit.pk, state__in=UNDER_WAY)
    if not mine.update(state=State.STOPPED, lease_until=None):
        raise Conflict(_("This audit has ended already, so there is nothing to stop."))
    event_record(actor=actor, verb="stopped audit", entity=audit.split, audit=audit.uid)
    audit.refresh_from_db()
    return audit


class _Claim:
    """The row of an audit that is being made: how far it is, and whether it is still ours."""

    def __init__(self, audit: SplitAudit, lease: datetime, progress: Progress) -> None:
        self._pk, self._lease, self._progress = audit.pk, lease, progress
        self._part = audit.part
        self._told = time.monotonic()

    def tell(self, part: str, done: int, total: int) -> None:
        """Tell of it and renew the lease, at most twice a second. _Stopped when it is no longer ours."""
        began = part != self._part
        if not began and time.monotonic() - self._told < _TELL_EVERY_S:
            return
        self._progress(part, done, total)
        now = timezone.now()
        self._part, self._told = part, time.monotonic()
        self.change(part=part, done=done, total=total, lease=now + LEASE, **({"part_began": now} if began else {}))

    def change(self, *, lease: datetime | None, **changed: Any) -> None:
        """Change the row if it is still ours; _Stopped if not."""
        mine = SplitAudit.objects.filter(pk=self._pk, state=State.RUNNING, lease_until=self._lease)
        if not mine.update(lease_until=lease, **changed):
            raise _Stopped
        if lease is not None:
            self._lease = lease


def audit_make(
    *,
    audit_id: int,
    now: datetime,
    until: datetime | None = None,
    progress: Progress = lambda _part, _done, _total: None,
) -> SplitAudit:
    """Make a requested audit. Run twice, it is made once: the row is claimed by one conditional UPDATE.

    Tells how far it is as it goes, in the row and to ``progress``. Ends DONE with the report, FAILED with what went wrong
    or where a worker has no more time, STOPPED where somebody stopped it, or WAITING when recordings were still being
    measured at ``until`` and the next task has to go on: only they can be measured in steps.
    """
    lease = now + LEASE
    due = audits_due(now=now).filter(pk=audit_id)
    due.exclude(part=Part.PRINTS).update(**_BEGUN)
    claimed = due.update(state=State.RUNNING, lease_until=lease)
    audit = SplitAudit.objects.select_related("split", "against").get(pk=audit_id)
    if not claimed:
        return audit
    claim = _Claim(audit, lease, progress)
    started = time.monotonic()
    try:
        ending = _ending(audit, claim, until)
        took = (audit.seconds or 0) + time.monotonic() - started
        claim.change(lease=None, seconds=round(took, 2), **ending)
    except _Stopped:
        pass
    audit.refresh_from_db()
    return audit


def _ending(audit: SplitAudit, claim: _Claim, until: datetime | None) -> dict[str, Any]:
    """What the row holds once the report is made, or cannot be."""
    try:
        return {"state": State.DONE, "error": "", "report": _report(audit, claim, until)}
    except StudioError as error:
        return {"state": State.FAILED, "error": error.message}
    except _StepOver:
        return {"state": State.WAITING}
    except SoftTimeLimitExceeded:
        against = f" --against {audit.against}" if audit.against else ""
        command = f"manage.py split_audit {audit.split}{against}"
        told = _("This takes longer than a worker may. The command %(command)s has no such limit.")
        return {"state": State.FAILED, "error": told % {"command": command}}


def _report(audit: SplitAudit, claim: _Claim, until: datetime | None) -> dict[str, Any]:
    splits = [audit.split, *([audit.against] if audit.against else [])]
    missing = len(_unmeasured(Clip.objects.filter(variants__turn__dialogue__split_items__split__in=splits)))
    total = max(audit.total, missing)  # what the steps before this one have measured counts as done
    seen = count(total - missing)

    def looked_at(_done: int, _total: int) -> None:
        claim.tell(Part.PRINTS, min(next(seen), total), total)

    def stored() -> None:
        if until is not None and timezone.now() >= until:
            raise _StepOver

    unreadable: dict[str, str] = {}
    for split in splits:
        unreadable |= prints_ensure(split=split, progress=looked_at, stored=stored)
    report = split_audit(split=audit.split, against=audit.against, progress=claim.tell)
    if unreadable:  # what nobody could hear may be there twice
        report["summary"] |= {"passed": False, "shut_by": [*report["summary"]["shut_by"], "unreadable"]}
    return {**report, "unreadable": dict(list(unreadable.items())[:_UNREADABLE_SHOWN])}


def prints_ensure(
    *,
    split: Split,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
    stored: Callable[[], object] = lambda: None,
) -> dict[str, str]:
    """Measure every recording of a split that was not measured yet; what cannot be read is returned with the reason, by
    ``dialogue/position/label``. Inserts ClipPrints in batches, so that a kill loses little.
    """
    clips = Clip.objects.filter(variants__turn__dialogue__split_items__split=split)
    found = clips_measure(clips=clips, progress=progress, stored=stored)
    return {_place(clip, split): why for clip, why in found.items()}


def clips_measure(
    *,
    clips: QuerySet[Clip],
    progress: Callable[[int, int], object] = lambda _done, _total: None,
    stored: Callable[[], object] = lambda: None,
) -> dict[Clip, str]:
    """Measure those of ``clips`` that were not measured yet; what cannot be read is returned with the reason.

    Inserts ClipPrints in batches. ``progress`` is called before each clip, ``stored`` after each that could be measured;
    what was measured is kept when one of them raises.
    """
    unreadable: dict[Clip, str] = {}
    batch: list[ClipPrint] = []
    keys = _unmeasured(clips)
    try:
        for number, clip in enumerate(_clips(keys)):
            progress(number, len(keys))
            try:
                found = clip_print(clip=clip)
            except (StudioError, FileNotFoundError) as error:
                unreadable[clip] = getattr(error, "message", "") or _("its file is gone from the storage")
                continue
            batch.append(
                ClipPrint(clip=clip, version=VERSION, shape=found.shape.tobytes(), marks=found.marks.tobytes())
            )
            stored()
            if len(batch) >= _BATCH:
                _keep(batch)
                batch = []
    finally:
        _keep(batch)
    return unreadable


def _keep(batch: list[ClipPrint]) -> None:
    try:
        with transaction.atomic():
            ClipPrint.objects.bulk_create(batch)
    except IntegrityError:
        ClipPrint.objects.bulk_create(batch, ignore_conflicts=True)


def _unmeasured(clips: QuerySet[Clip]) -> list[int]:
    return list(clips.exclude(prints__version=VERSION).order_by("pk").values_list("pk", flat=True).distinct())


def _clips(keys: list[int]) -> Iterator[Clip]:
    for start in range(0, len(keys), _BATCH):
        yield from Clip.objects.filter(pk__in=keys[start : start + _BATCH]).defer("peaks").order_by("pk")


def clip_print(*, clip: Clip) -> Print:
    """Decode a stored clip and measure it; at most its first minute tells it from all others."""
    decoded = audio_decode(data=blob_read(clip.sha256), name=f"clip {clip.uid}")
    mono = decoded.samples[: decoded.rate * 60].mean(axis=1)
    return print_of(np.asarray(soxr.resample(mono, decoded.rate, RATE), dtype=np.float32))


def _place(clip: Clip, split: Split) -> str:
    found = clip.variants.filter(turn__dialogue__split_items__split=split).select_related("turn__dialogue").first()
    return f"{found.turn.dialogue.uid}/{found.turn.position}/{found.label}" if found else clip.uid
