"""Who works on a dialogue. A lease is short and renewed at each call, and a dead process's lease is nobody's."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.errors import Conflict
from eqstudio.ids import uid
from eqstudio.prepared import Prepared, PreparedUpdate
from generation.domain.lifecycle import IN_PRODUCTION
from generation.models import Batch, Dialogue
from generation.selectors.production import QUEUED, due

LEASE = timedelta(minutes=5)
LONGEST_CALL = timedelta(minutes=3)
"""A lease that lasts longer than one call to any provider need not be renewed before it."""
QUEUED_FOR = timedelta(seconds=max(30, 8 * settings.SWEEP_INTERVAL_S))
"""How long the sweep leaves a dialogue alone that it has handed to the broker; a broker that lost it costs that much."""
MAX_ATTEMPTS = 3
MAX_STOPS = 6
"""A killed worker takes along all that it works on, and is nobody's fault; one that dies at every turn of a dialogue is its."""

_PRODUCTION = [state.value for state in IN_PRODUCTION]


_DUE = Prepared[Dialogue](
    lambda dialogue, now: (
        Dialogue.objects.filter(due(now), pk=dialogue).select_related("brief__batch", "corpus").order_by()
    )
)


def _claiming(*, never: bool) -> PreparedUpdate:
    """A claim of a dialogue that is as it was seen; ``never`` where no lease had an end."""
    seen = ["pk", "state", "lease_owner", "attempts", "stops", *([] if never else ["lease_until"])]

    def build(**given: Any) -> tuple[QuerySet[Dialogue], dict[str, Any]]:
        as_seen = {name: given[name] for name in seen} | ({"lease_until": None} if never else {})
        return Dialogue.objects.filter(**as_seen), {name: given[f"new_{name}"] for name in _CLAIMED}

    return PreparedUpdate(build, names=[*seen, *(f"new_{name}" for name in _CLAIMED)])


_CLAIMED = ("lease_until", "lease_owner", "attempts", "stops")
_CLAIM = {never: _claiming(never=never) for never in (True, False)}
_RELEASE = PreparedUpdate(
    lambda dialogue, owner, until: (
        Dialogue.objects.filter(pk=dialogue, lease_owner=owner),
        {"lease_until": until, "lease_owner": ""},
    )
)
_WANTED = Prepared[int](
    lambda batch: Batch.objects.filter(pk=batch, cancelled_at=None).order_by().values_list("pk", flat=True)
)


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
    """Take a dialogue whose next step is due, counting the attempt; None when it is not due or somebody was first.

    A lease that ran out in somebody's hands counts as a process that stopped, and its attempt is ours.
    """
    seen = _DUE.first(dialogue=dialogue_id, now=now)
    if seen is None:
        return None
    began = seen.lease_owner in {"", QUEUED}
    fresh = {
        "lease_until": timezone.now() + LEASE,
        "lease_owner": f"{process_name()}:{uid()}",
        "attempts": seen.attempts + (1 if began else 0),
        "stops": seen.stops + (0 if began else 1),
    }
    as_seen = {name: getattr(seen, name) for name in ("pk", "state", "lease_owner", "attempts", "stops")}
    if seen.lease_until is not None:
        as_seen["lease_until"] = seen.lease_until
    if not _CLAIM[seen.lease_until is None].run(**as_seen, **{f"new_{name}": value for name, value in fresh.items()}):
        return None
    for name, value in fresh.items():
        setattr(seen, name, value)
    return seen


def lease_renew(*, dialogue: Dialogue, progress: bool = False) -> None:
    """Hold on to a claimed dialogue; with ``progress`` its attempts start over. Conflict when the lease was lost or the
    batch called off: whoever works on it should stop. A dialogue worked on without a lease is left alone.
    """
    if dialogue.lease_owner in {"", QUEUED}:
        return
    now = timezone.now()
    if not progress and dialogue.lease_until is not None and dialogue.lease_until - now > LONGEST_CALL:
        return
    if not lease_extend(dialogue=dialogue, until=now + LEASE, progress=progress):
        raise lease_lost()


def lease_extend(*, dialogue: Dialogue, until: datetime, progress: bool) -> bool:
    """Move the end of a held lease, inside a transaction of the caller's if there is one; False when it was lost or the
    batch called off. A lease that has long to go, with nothing counted against it, is left as it is: nobody can have taken it.
    """
    if dialogue.lease_owner in {"", QUEUED}:
        return True
    if not _as_good_as_new(dialogue):
        mine = Dialogue.objects.filter(pk=dialogue.pk, state=dialogue.state, lease_owner=dialogue.lease_owner)
        if not mine.update(lease_until=until, **({"attempts": 1, "stops": 0} if progress else {})):
            return False
        dialogue.lease_until = until
        if progress:
            dialogue.attempts, dialogue.stops = 1, 0
    return dialogue.brief is None or _WANTED.first(batch=dialogue.brief.batch_id) is not None


def _as_good_as_new(dialogue: Dialogue) -> bool:
    left = dialogue.lease_until - timezone.now() if dialogue.lease_until else timedelta()
    return (dialogue.attempts, dialogue.stops) == (1, 0) and left > LONGEST_CALL


def lease_lost() -> Conflict:
    """What stops whoever works on a dialogue that is not theirs any more."""
    return Conflict(_("This dialogue is no longer being worked on here. What was made is kept."))


def lease_put_off(*, dialogue: Dialogue, until: datetime) -> None:
    """Let go of a dialogue until ``until`` without counting this attempt: the provider was not asked, or is to be left alone."""
    Dialogue.objects.filter(pk=dialogue.pk, lease_owner=dialogue.lease_owner, attempts__gt=0).update(
        attempts=F("attempts") - 1
    )
    lease_release(dialogue=dialogue, until=until)


def lease_release(*, dialogue: Dialogue, until: datetime | None = None) -> None:
    """Let go of a dialogue if this claim still holds it; ``until`` keeps it from being begun again before then."""
    if dialogue.lease_owner:
        _RELEASE.run(dialogue=dialogue.pk, owner=dialogue.lease_owner, until=until)
        dialogue.lease_until, dialogue.lease_owner = until, ""


def leases_reclaim(*, now: datetime) -> int:
    """Free what dead processes of this host were working on, without counting those attempts. Returns how many dialogues
    came free.
    """
    held = Dialogue.objects.filter(state__in=_PRODUCTION, lease_until__gt=now).exclude(lease_owner__in=["", QUEUED])
    owners = set(held.order_by().values_list("lease_owner", flat=True).distinct())
    gone = [owner for owner in owners if process_is_gone(owner)]
    if not gone:
        return 0
    return Dialogue.objects.filter(lease_owner__in=gone).update(
        lease_until=None, lease_owner="", attempts=Greatest(F("attempts") - 1, 0), stops=F("stops") + 1
    )


def dialogue_reserve(*, dialogue_id: int, now: datetime) -> bool:
    """Mark a due dialogue as handed to the broker; False when it is not due any more or already waiting there."""
    seen = Dialogue.objects.filter(due(now), pk=dialogue_id).values("state", "lease_until", "lease_owner").first()
    if seen is None:
        return False
    if seen["lease_owner"] == QUEUED and seen["lease_until"] is not None and seen["lease_until"] > now:
        return False
    rows = Dialogue.objects.filter(pk=dialogue_id, **seen)
    return bool(rows.update(lease_until=now + QUEUED_FOR, lease_owner=QUEUED))
