"""Audits are asked for, made and kept here; the prints of recordings are made on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import numpy as np
import soxr
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.domain.leakage_audio import RATE, VERSION, Print, print_of
from annotation.models import ClipPrint, Split, SplitAudit
from annotation.selectors.audit import split_audit
from eqstudio.blobs import blob_read
from eqstudio.errors import InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from generation.intake import audio_decode
from generation.models import Clip

LEASE = timedelta(minutes=30)
State = SplitAudit.State
_UNREADABLE_SHOWN = 100
_BATCH = 50


@transaction.atomic
def audit_request(*, split: Split, against: Split | None = None, actor: User | None = None) -> SplitAudit:
    """Ask for an audit; one that waits or runs already is returned instead. Inserts the row, writes one Event."""
    if against is not None and against.pk == split.pk:
        raise InvalidInput(_("A split is held against another one, not against itself."), field="against")
    waiting = SplitAudit.objects.filter(split=split, against=against, state__in=[State.WAITING, State.RUNNING]).first()
    if waiting is not None:
        return waiting
    audit = SplitAudit.objects.create(split=split, against=against, created_by=actor)
    event_record(actor=actor, verb="asked for audit", entity=split, audit=audit.uid, against=str(against or ""))
    return audit


def audits_due(*, now: datetime) -> QuerySet[SplitAudit]:
    """Audits nobody works on: waiting ones, and running ones whose lease is over."""
    return SplitAudit.objects.filter(Q(state=State.WAITING) | Q(state=State.RUNNING, lease_until__lte=now))


def audit_make(*, audit_id: int, now: datetime) -> SplitAudit:
    """Make a requested audit. Run twice, it is made once: the row is claimed by one conditional UPDATE.

    Ends DONE with the report, or FAILED with what went wrong.
    """
    claimed = audits_due(now=now).filter(pk=audit_id).update(state=State.RUNNING, lease_until=now + LEASE)
    audit = SplitAudit.objects.select_related("split", "against").get(pk=audit_id)
    if not claimed:
        return audit
    started = time.monotonic()
    mine = SplitAudit.objects.filter(pk=audit_id)
    try:
        unreadable: dict[str, str] = {}
        for split in [audit.split, *([audit.against] if audit.against else [])]:
            unreadable |= prints_ensure(split=split, renew=lambda: mine.update(lease_until=timezone.now() + LEASE))
        report = split_audit(split=audit.split, against=audit.against)
        report["unreadable"] = dict(list(unreadable.items())[:_UNREADABLE_SHOWN])
    except StudioError as error:
        mine.update(state=State.FAILED, error=error.message, lease_until=None)
    else:
        took = round(time.monotonic() - started, 2)
        mine.update(state=State.DONE, report=report, error="", seconds=took, lease_until=None)
    audit.refresh_from_db()
    return audit


def prints_ensure(*, split: Split, renew: Callable[[], object] | None = None) -> dict[str, str]:
    """Measure every recording of a split that was not measured yet; what cannot be read is returned with the reason, by
    ``dialogue/position/label``. Inserts ClipPrints in batches, so that a kill loses little.
    """
    clips = Clip.objects.filter(variants__turn__dialogue__split_items__split=split)
    return {_place(clip, split): why for clip, why in clips_measure(clips=clips, renew=renew).items()}


def clips_measure(*, clips: QuerySet[Clip], renew: Callable[[], object] | None = None) -> dict[Clip, str]:
    """Measure those of ``clips`` that were not measured yet; what cannot be read is returned with the reason. Inserts ClipPrints
    in batches.
    """
    unreadable: dict[Clip, str] = {}
    batch: list[ClipPrint] = []
    for clip in _unmeasured(clips):
        try:
            found = clip_print(clip=clip)
        except (StudioError, FileNotFoundError) as error:
            unreadable[clip] = getattr(error, "message", "") or _("its file is gone from the storage")
            continue
        batch.append(ClipPrint(clip=clip, version=VERSION, shape=found.shape.tobytes(), marks=found.marks.tobytes()))
        if len(batch) >= _BATCH:
            _keep(batch)
            batch = []
            if renew is not None:
                renew()
    _keep(batch)
    return unreadable


def _keep(batch: list[ClipPrint]) -> None:
    try:
        with transaction.atomic():
            ClipPrint.objects.bulk_create(batch)
    except IntegrityError:
        ClipPrint.objects.bulk_create(batch, ignore_conflicts=True)


def _unmeasured(clips: QuerySet[Clip]) -> Iterator[Clip]:
    keys = list(clips.exclude(prints__version=VERSION).order_by("pk").values_list("pk", flat=True).distinct())
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
