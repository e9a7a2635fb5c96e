"""Who works on a dialogue. A lease is short and renewed at each call, and a dead process's lease is nobody's."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict
from eqstudio.ids import uid
from generation.domain.lifecycle import IN_PRODUCTION
from generation.models import Batch, Dialogue
from generation.selectors.production import QUEUED, due

LEASE = timedelta(minutes=5)
"""Longer than one call to any provider; it is renewed before each."""
QUEUED_FOR = timedelta(minutes=2)
"""How long the sweep leaves a dialogue alone that it has handed to the broker."""
MAX_ATTEMPTS = 3

_PRODUCTION = [state.value for state in IN_PRODUCTION]


def process_name(pid: int | None = None) -> str:
    """Host, process id and start time: no other process, before or after, has the same name. A claim adds a word of its own."""
    number = os.getpid() if pid is None else pid
    return f"{socket.gethostname()[:60]}:{number}:{_started(number)}"


def process_is_gone(owner: str) -> bool:
    """Whether ``owner`` was a process of this host and no longer is. Processes of other hosts are given until their lease ends."""
    process, _colon, _claim = owner.rpartition(":")
    host, pid, _start = (*process.split(":"), "", "", "")[:3]
    return host == socket.gethostname()[:60] and pid.isdigit() and process_name(int(pid)) != process


def _started(pid: int) -> str:
    """The start time in clock ticks since boot (Linux); elsewhere only whether there is such a process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return _exists(pid)


def _exists(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "there"
    return "there"


def lease_claim(*, dialogue_id: int, now: datetime) -> Dialogue | None:
    """Take a dialogue whose next step is due, counting the attempt; None when it is not due or somebody was first."""
    seen = Dialogue.objects.filter(due(now), pk=dialogue_id).select_related("brief__batch", "corpus").first()
    if seen is None:
        return None
    owner = f"{process_name()}:{uid()}"
    claimed = Dialogue.objects.filter(
        pk=seen.pk, state=seen.state, lease_until=seen.lease_until, lease_owner=seen.lease_owner
    ).update(lease_until=timezone.now() + LEASE, lease_owner=owner, attempts=F("attempts") + 1)
    if not claimed:
        return None
    seen.refresh_from_db(fields=["lease_until", "lease_owner", "attempts"])
    return seen


def lease_renew(*, dialogue: Dialogue, progress: bool = False) -> None:
    """Hold on to a claimed dialogue; with ``progress`` its attempts start over. Conflict when the lease was lost or the
    batch called off: whoever works on it should stop. A dialogue worked on without a lease is left alone.
    """
    if dialogue.lease_owner in {"", QUEUED}:
        return
    fresh = {"lease_until": timezone.now() + LEASE} | ({"attempts": 1} if progress else {})
    held = Dialogue.objects.filter(pk=dialogue.pk, state=dialogue.state, lease_owner=dialogue.lease_owner).update(
        **fresh
    )
    if not held or Batch.objects.filter(briefs=dialogue.brief_id, cancelled_at__isnull=False).exists():
        raise Conflict(_("This dialogue is no longer being worked on here. What was made is kept."))
    if progress:
        dialogue.attempts = 1


def lease_release(*, dialogue: Dialogue, until: datetime | None = None) -> None:
    """Let go of a dialogue if this claim still holds it; ``until`` keeps it from being begun again before then."""
    if dialogue.lease_owner:
        Dialogue.objects.filter(pk=dialogue.pk, lease_owner=dialogue.lease_owner).update(
            lease_until=until, lease_owner=""
        )
        dialogue.lease_until, dialogue.lease_owner = until, ""


def leases_reclaim(*, now: datetime) -> int:
    """Free what dead processes of this host were working on. Returns how many dialogues came free."""
    held = Dialogue.objects.filter(state__in=_PRODUCTION, lease_until__gt=now).exclude(lease_owner__in=["", QUEUED])
    owners = set(held.order_by().values_list("lease_owner", flat=True).distinct())
    gone = [owner for owner in owners if process_is_gone(owner)]
    return Dialogue.objects.filter(lease_owner__in=gone).update(lease_until=None, lease_owner="") if gone else 0


def dialogue_reserve(*, dialogue_id: int, now: datetime) -> bool:
    """Mark a due dialogue as handed to the broker; False when it is not due any more or already waiting there."""
    seen = Dialogue.objects.filter(due(now), pk=dialogue_id).values("state", "lease_until", "lease_owner").first()
    if seen is None:
        return False
    if seen["lease_owner"] == QUEUED and seen["lease_until"] is not None and seen["lease_until"] > now:
        return False
    rows = Dialogue.objects.filter(pk=dialogue_id, **seen)
    return bool(rows.update(lease_until=now + QUEUED_FOR, lease_owner=QUEUED))
