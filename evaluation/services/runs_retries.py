"""Questions that failed are asked again, a group at a time: the old answer stays in the database and counts no more."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from eqstudio.benchmarks.base import Outcome
from eqstudio.errors import Conflict
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.models import Response, RunItem, Sitting, TrialRetake
from evaluation.selectors.progress import dialogue_order


@transaction.atomic
def failures_retry(*, sitting: Sitting, cause: str | None = None, actor: User | None = None) -> int:
    """Ask the questions of a model's sitting again whose calls failed, or only those with this cause ('' for none given).
    Returns how many.

    Inserts a TrialRetake for each, queues their dialogues, and opens the sitting again. What was asked after a failed
    question stays, unless it would read differently after the new answer. Conflict for a cancelled sitting. One Event.
    """
    if sitting.state == Sitting.State.CANCELLED:
        raise Conflict(_("This run was stopped for good; start a new one."))
    failed = Response.objects.filter(trial__sitting=sitting, trial__retake=None, failure=Outcome.ERROR.value)
    if cause is not None:
        failed = failed.filter(paradata__cause=cause) if cause else failed.filter(paradata__cause__isnull=True)
    trials = list(failed.values_list("trial_id", "trial__dialogue_id"))
    if not trials:
        return 0
    TrialRetake.objects.bulk_create([TrialRetake(trial_id=trial, created_by=actor) for trial, _item in trials])
    positions = {dialogue: position for position, dialogue in enumerate(dialogue_order(sitting=sitting))}
    dialogues = {dialogue for _trial, dialogue in trials}
    RunItem.objects.bulk_create(
        [RunItem(sitting=sitting, dialogue_id=pk, position=positions.get(pk, 0)) for pk in sorted(dialogues)],
        ignore_conflicts=True,
    )
    Sitting.objects.filter(pk=sitting.pk).exclude(state=Sitting.State.CANCELLED).update(
        state=Sitting.State.OPEN, finished_at=None, error="", pauses=0, not_before=None
    )
    sitting.refresh_from_db(fields=["state", "finished_at", "error", "pauses", "not_before"])
    event_record(actor=actor, verb="failures_retry", entity=sitting, cause=cause, questions=len(trials))
    return len(trials)
