"""What generation puts on the shell's pages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import randrange
from typing import Any

from django.db.models import Count, Exists, Max, Min, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext as _

from eqstudio.access import can_curate
from eqstudio.home import Hit, Job, Panel, WorkAge
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.models import Clip, Dialogue, Variant
from generation.selectors import batches_listed, production_now
from generation.selectors.production import due
from generation.words import STATE_LABELS

CAUSES_SHOWN = 5
JOBS_SHOWN = 3
LOOKED_AT_BYTES = 2_000_000
"""Larger clips are not read for a look at the storage."""


def panels(user: User, now: datetime) -> Iterator[Panel]:  # noqa: ARG001 -- every source of panels takes the time
    """What of production needs a researcher: dialogues that failed or were flagged. Nothing when nothing does."""
    if not can_curate(user):
        return
    flagged = Dialogue.objects.filter(state=DialogueState.FLAGGED.value).count()
    failed = Dialogue.objects.filter(state=DialogueState.FAILED.value).order_by()
    causes = list(failed.values("error_cause").annotate(n=Count("pk")).order_by("-n", "error_cause")[:CAUSES_SHOWN])
    if flagged or causes:
        listed: Any = batches_listed()
        batch = listed.filter(failed__gt=0).first() if causes else None
        context = {"flagged": flagged, "causes": causes, "failed": failed.count() if causes else 0, "batch": batch}
        yield Panel("generation/home_attention.html", context, order=30, aside=True)


def running(now: datetime) -> Iterator[Job]:
    """The batches that the worker has in hand."""
    listed: Any = batches_listed()
    batches = list(listed.filter(cancelled_at=None, waiting__gt=0)[:JOBS_SHOWN])
    left = production_now(now=now)["time_left"] if batches else None
    for batch in batches:
        yield Job(
            label=_("Making %(corpus)s") % {"corpus": batch.corpus},
            href=reverse("batch", args=[batch.uid]),
            done=batch.total - batch.waiting,
            total=batch.total,
            seconds_left=round(left.total_seconds()) if isinstance(left, timedelta) and len(batches) == 1 else None,
        )


def search(query: str, limit: int) -> Iterator[Hit]:
    """Dialogues by code, outside id, title, or words spoken in them; two queries."""
    spoken = Variant.objects.filter(turn__dialogue=OuterRef("pk"), text__icontains=query)
    named = Q(uid__istartswith=query) | Q(external_id__icontains=query) | Q(title__icontains=query)
    found = list(Dialogue.objects.select_related("corpus").filter(named | Exists(spoken)).order_by("-pk")[:limit])
    lines: dict[int, str] = {}
    said = Variant.objects.filter(turn__dialogue__in=found, text__icontains=query).select_related("turn").order_by("pk")
    for variant in said:
        lines.setdefault(variant.turn.dialogue_id, variant.text)
    for dialogue in found:
        yield Hit(
            title=dialogue.title or str(dialogue.corpus),
            href=reverse("dialogue", args=[dialogue.uid]),
            code=dialogue.uid,
            detail=lines.get(dialogue.pk, ""),
            state=str(STATE_LABELS[dialogue.state]),
        )


def stored(count: int) -> Iterator[str]:
    """The names of a few stored clips, others each time; two cheap queries each."""
    small = Clip.objects.filter(size__lte=LOOKED_AT_BYTES).order_by("pk")
    ends = small.aggregate(first=Min("pk"), last=Max("pk"))
    for _look in range(count if ends["last"] else 0):
        start = randrange(ends["first"], ends["last"] + 1)  # noqa: S311 -- a sample
        name = small.filter(pk__gte=start).values_list("sha256", flat=True).first()
        if name:
            yield name


def work_age(now: datetime) -> WorkAge:
    """How long the oldest due step of production has waited, and when a dialogue last moved."""
    made_here = Dialogue.objects.filter(brief__isnull=False)
    oldest = Dialogue.objects.filter(due(now)).aggregate(at=Min("updated"))["at"]
    return WorkAge(oldest_due=oldest, last_progress=made_here.aggregate(at=Max("updated"))["at"] if oldest else None)
