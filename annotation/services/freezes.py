"""Freezes in the background: asked for on a page, read and written by a worker, stopped while nothing is written yet."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.domain.curation import Recipe
from annotation.models import Freeze, Split
from annotation.selectors.splits import sources_of
from annotation.services.splits import split_freeze, split_name_check
from eqstudio.blobs import StorageFull
from eqstudio.errors import Conflict, InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User

LEASE = timedelta(minutes=4)
"""Renewed with every few hundred items read; the sweep takes up what has not been renewed for so long."""
State = Freeze.State
UNDER_WAY = (State.WAITING, State.RUNNING)


class _Stopped(Exception):  # noqa: N818 -- no error: somebody stopped it, or another worker has it
    pass


@transaction.atomic
def freeze_request(*, name: str, recipe: Recipe, actor: User | None = None) -> Freeze:
    """Ask for a freeze in the background; the same one that is under way already is returned instead.

    Inserts the row, writes one Event; the task that works on it is enqueued by whoever calls. InvalidInput when the name
    cannot name a split or the recipe says nowhere from, NotFound for a round or corpus that there is not.
    """
    split_name_check(name)
    sources = sources_of(recipe)
    if not sources.rounds and sources.corpus is None:
        raise InvalidInput(_("Choose rounds or a corpus."), field="rounds")
    told = recipe.as_dict()
    for waiting in Freeze.objects.filter(name=name, state__in=UNDER_WAY):
        if waiting.recipe == told:
            return waiting
    freeze = Freeze.objects.create(name=name, recipe=told, created_by=actor)
    event_record(actor=actor, verb="asked for freeze", entity=freeze, name=name)
    return freeze


@transaction.atomic
def freeze_stop(*, freeze: Freeze, actor: User | None = None) -> Freeze:
    """Stop a freeze before it has frozen anything; one Event. Conflict when it has ended already."""
    if not Freeze.objects.filter(pk=freeze.pk, state__in=UNDER_WAY).update(state=State.STOPPED, lease_until=None):
        raise Conflict(_("This freeze has ended already, so there is nothing to stop."))
    event_record(actor=actor, verb="stopped freeze", entity=freeze, name=freeze.name)
    freeze.refresh_from_db()
    return freeze


def freezes_due(*, now: datetime) -> QuerySet[Freeze]:
    """Freezes nobody works on: waiting ones, and running ones whose lease is over."""
    return Freeze.objects.filter(Q(state=State.WAITING) | Q(state=State.RUNNING, lease_until__lte=now))


def freeze_run(*, freeze_id: int, now: datetime) -> Freeze:
    """Freeze what was asked for. Run twice, it is frozen once.

    Claims the row by one conditional UPDATE and renews its lease while it reads. The split and the end of the freeze are
    written in one transaction, so a worker that is killed has frozen all or nothing, and whoever stops it has stopped it or
    is told that it has ended. Ends DONE with the split, or FAILED with what went wrong.
    """
    lease = now + LEASE
    claimed = freezes_due(now=now).filter(pk=freeze_id).update(state=State.RUNNING, lease_until=lease, done=0)
    freeze = Freeze.objects.select_related("created_by").get(pk=freeze_id)
    if not claimed:
        return freeze

    def renew(**changed: Any) -> None:
        nonlocal lease
        mine = Freeze.objects.filter(pk=freeze_id, state=State.RUNNING, lease_until=lease)
        lease = timezone.now() + LEASE
        if not mine.update(lease_until=lease, **changed):
            raise _Stopped

    def written(split: Split) -> None:
        renew()
        Freeze.objects.filter(pk=freeze_id).update(state=State.DONE, split=split, error="", lease_until=None)

    try:
        split_freeze(
            name=freeze.name,
            recipe=Recipe.from_dict(freeze.recipe),
            actor=freeze.created_by,
            now=now,
            progress=lambda done, total: renew(done=done, total=total),
            written=written,
        )
    except _Stopped:
        pass
    except (StudioError, OSError) as error:
        told = error if isinstance(error, StudioError) else _no_room(error)
        Freeze.objects.filter(pk=freeze_id, state=State.RUNNING, lease_until=lease).update(
            state=State.FAILED, error=told.message, lease_until=None
        )
    freeze.refresh_from_db()
    return freeze


def _no_room(error: OSError) -> StudioError:
    return StorageFull(
        _("There was no room to put the items aside (%(error)s). Nothing was frozen; free some space and try again.")
        % {"error": error.strerror or error}
    )
