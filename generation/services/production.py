"""One step at a time: claim a dialogue, do what is due, let go of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from eqstudio.blobs import BUCKET_ERRORS, StorageFull, storage_reason
from eqstudio.errors import Conflict, GiveUp, ProviderError, Retry, StudioError
from generation.domain.lifecycle import DialogueState
from generation.models import Brief, Dialogue
from generation.providers import text_providers, transcribers, voice_providers
from generation.providers.base import RATE_LIMITED, Queue
from generation.services.budgets import BudgetSpent
from generation.services.checking import qc_run
from generation.services.gates import Busy
from generation.services.leases import MAX_ATTEMPTS, MAX_STOPS, lease_claim, lease_put_off, lease_release
from generation.services.lifecycle import dialogue_move
from generation.services.scripting import script_generate
from generation.services.voicing import clips_synthesize

STEPS: dict[DialogueState, tuple[Callable[..., Dialogue], Callable[[Brief], Queue]]] = {
    DialogueState.BRIEFED: (script_generate, lambda brief: text_providers.get(brief.text_provider).queue),
    DialogueState.SCRIPTED: (clips_synthesize, lambda brief: voice_providers.get(brief.voice_provider).queue),
    DialogueState.VOICED: (qc_run, lambda brief: transcribers.get(brief.transcriber).queue),
}
"""What is due in each state of production, and which worker it belongs to."""


@dataclass(frozen=True)
class Step:
    """What came of a step: the queue of the next one, or in how many seconds this one is to be tried again, or neither."""

    queue: Queue | None = None
    again_in_s: float | None = None


def dialogue_advance(*, dialogue_id: int, now: datetime) -> Queue | None:
    """Do the one step that is due for a dialogue and say which queue the next one belongs to; None when none is due.

    Side effects: the lease (one conditional UPDATE that counts the attempt), those of the step, and the release. A
    failure keeps what exists: it is put off (ProviderError with Retry, at most three attempts without progress) or the
    dialogue becomes FAILED with its cause.
    """
    return dialogue_step(dialogue_id=dialogue_id, now=now).queue


def dialogue_step(*, dialogue_id: int, now: datetime) -> Step:
    """As ``dialogue_advance``, and says when a step that was put off is to be tried again. A provider that may not be
    asked now, and a budget that is used up, count no attempt.
    """
    dialogue = lease_claim(dialogue_id=dialogue_id, now=now)
    if dialogue is None:
        return Step()
    try:
        _step(dialogue)
        return Step(queue=step_queue(dialogue))
    except Conflict:
        return Step()
    except Busy as busy:
        lease_put_off(dialogue=dialogue, until=now + timedelta(seconds=busy.after_s))
        return Step(again_in_s=busy.after_s)
    except BudgetSpent:
        lease_put_off(dialogue=dialogue, until=now)
        return Step()
    except (StudioError, *BUCKET_ERRORS) as error:
        return Step(again_in_s=_fail(dialogue, _told(error), now))
    finally:
        lease_release(dialogue=dialogue)


def step_queue(dialogue: Dialogue) -> Queue | None:
    """The queue of the worker that does the next step of a dialogue; None when it is not in production."""
    step = STEPS.get(DialogueState(dialogue.state))
    return step[1](dialogue.brief) if step and dialogue.brief else None


def _step(dialogue: Dialogue) -> None:
    stopped = dialogue.stops if dialogue.stops >= MAX_STOPS else dialogue.attempts - 1
    if stopped >= MAX_ATTEMPTS:
        raise ProviderError(
            _(
                "The worker stopped %(attempts)d times in this step without getting any further. Look into its log, then retry."
            )
            % {"attempts": stopped},
            cause="worker stopped",
            decision=GiveUp(),
        )
    service, _queue = STEPS[DialogueState(dialogue.state)]
    service(dialogue=dialogue)


def _told(error: Exception) -> StudioError:
    """An error of the store, where a step reads a sound, puts the step off as one does where it writes."""
    if isinstance(error, StudioError):
        return error
    return StorageFull(_("The storage did not give a sound: %(why)s.") % {"why": storage_reason(error)})


def _fail(dialogue: Dialogue, error: StudioError, now: datetime) -> float | None:
    """Write down what went wrong; put the step off, or give the dialogue up. Returns in how many seconds it is tried again."""
    cause, decision = _decide(error)
    held = Dialogue.objects.filter(pk=dialogue.pk, lease_owner=dialogue.lease_owner)
    with transaction.atomic():
        if not held.update(error=error.message, error_cause=cause[:60], updated=now):
            return None
        if isinstance(decision, Retry):
            until = now + timedelta(seconds=decision.after_s)
            if cause == RATE_LIMITED:
                lease_put_off(dialogue=dialogue, until=until)
                return decision.after_s
            if dialogue.attempts < MAX_ATTEMPTS:
                lease_release(dialogue=dialogue, until=until)
                return decision.after_s
        dialogue.refresh_from_db(fields=["state", "error", "error_cause"])
        dialogue_move(dialogue=dialogue, to=DialogueState.FAILED, reason=cause)
        return None


def _decide(error: StudioError) -> tuple[str, Retry | GiveUp]:
    if isinstance(error, ProviderError):
        return error.cause, error.decision
    if isinstance(error, StorageFull):
        return "storage full", Retry(60)
    return (f"check {error.field}" if error.field else "invalid input"), GiveUp()
