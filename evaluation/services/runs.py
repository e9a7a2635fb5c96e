"""A model sits the exam: leased, in steps, resumable, every question answered once."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.benchmarks.base import Trial
from eqstudio.blobs import blob_read
from eqstudio.errors import Conflict, GiveUp, InvalidInput, ProviderError, Refused, Retry, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.backends import Answer, Backend, ClipAudio, backends, evaluators
from evaluation.backends.base import Clips, Exam, variants_in
from evaluation.backends.speaking import reply_kept
from evaluation.models import Respondent, Response, Sitting, Study, TrialRecord
from evaluation.selectors.elsewhere import swaps_of
from evaluation.services.asked import instructions_for
from evaluation.services.provenance import git_revision, run_spec_ensure
from evaluation.services.responses import response_record
from evaluation.services.sittings import sitting_open, sitting_resume, trial_next
from generation.media import clip_served
from generation.models import Variant
from generation.selectors import variants_by_uid

LEASE = timedelta(seconds=180)
"""Longer than the longest single call; renewed before every question."""
MAX_TRIES = 5
MAX_ERRORS_IN_A_ROW = 5
STEP_TRIALS = 20
STEP_SECONDS = 120.0
SOUND_MISSING = "sound missing"
STOPPING_CAUSES = frozenset(
    {"unreachable", "rate limited", "client", "HTTP 401", "HTTP 403", "HTTP 404", SOUND_MISSING}
)
"""Failures that somebody must mend first: the run stops and says so, rather than spoil its answers."""


@dataclass(frozen=True)
class Step:
    """What a step came to. ``due``: when the next one may be tried; None when there is none."""

    state: str
    answered: int = 0
    due: datetime | None = None


def study_run(
    *,
    study: Study,
    backend: str,
    evaluator: str = "mcq",
    limit: int | None = None,
    runs: int = 2,
    actor: User | None = None,
) -> Respondent:
    """Enter a model for a study: one Respondent with its RunSpec and ``runs`` sittings, to be advanced step by step.

    The same RunSpec again resumes: stopped sittings may go on, and a larger limit asks the further items. Writes one Event.
    """
    if runs < 1:
        raise InvalidInput("A model sits at least once.", field="runs")
    if limit is not None and limit < 1:
        raise InvalidInput("The limit is a number of items, at least 1.", field="limit")
    if not study.is_open:
        raise Conflict("This study is closed; it takes no more answers.")
    one = _backend(study, backend, evaluator, seed=study.seed)
    one.check()
    spec = run_spec_ensure(
        study=study, backend=backend, evaluator=evaluator, model=one.model, parameters=one.parameters()
    )
    respondent = Respondent.objects.filter(study=study, run_spec=spec).first()
    if respondent is None:
        name = one.model if evaluator == "mcq" else f"{one.model} ({evaluator})"
        if Respondent.objects.filter(study=study, name=name[:100]).exists():
            name = f"{name[:100]} {spec.hash[:8]}"
        respondent = Respondent.objects.create(study=study, name=name[:120], kind=one.kind, run_spec=spec)
    for run in range(runs):
        _go_on(sitting_open(study=study, respondent=respondent, run=run, limit=limit), limit, actor)
    event_record(actor=actor, verb="study_run", entity=study, respondent=respondent.name, run_spec=spec.hash)
    return respondent


def _go_on(sitting: Sitting, limit: int | None, actor: User | None) -> None:
    """Let a stopped sitting go on, and a finished one with a limit that is now larger."""
    larger = sitting.limit is not None and (limit is None or limit > sitting.limit)
    if larger:
        Sitting.objects.filter(pk=sitting.pk).exclude(state=Sitting.State.CANCELLED).update(
            limit=limit, state=Sitting.State.OPEN, finished_at=None
        )
    sitting_resume(sitting=sitting, actor=actor)


def respondent_drive(
    *, respondent: Respondent, clock: Callable[[], datetime] = timezone.now, sleep: Callable[[float], None] = time.sleep
) -> list[Sitting]:
    """Advance all sittings of a respondent in this process until each is finished or stopped; waits where it must."""
    for sitting in respondent.sittings.order_by("run"):
        while True:
            step = sitting_advance(sitting_id=sitting.pk, clock=clock)
            if step.state in {"done", "stopped"}:
                break
            if step.due is not None:
                sleep(min(5.0, max(0.05, (step.due - clock()).total_seconds())))
    return list(respondent.sittings.order_by("run").select_related("respondent__study__split"))


def sitting_advance(*, sitting_id: int, clock: Callable[[], datetime] = timezone.now) -> Step:
    """Answer the next questions of one sitting under a lease, a step's worth at most.

    Claims by one conditional UPDATE; whoever finds the lease taken leaves (``busy``). Inserts TrialRecords and Responses,
    moves the lease, counts failed tries, and writes why a run stopped into ``error``.
    """
    holder = _holder()
    if not _claim(sitting_id, holder, clock()):
        return _unclaimed(sitting_id)
    sitting = Sitting.objects.select_related("respondent__study__split", "respondent__run_spec").get(pk=sitting_id)
    answered, began = 0, time.monotonic()
    backend = None
    try:
        backend = _backend_of(sitting)
        while answered < STEP_TRIALS and time.monotonic() - began < STEP_SECONDS:
            if not _renew(sitting, holder, clock()):
                return _unclaimed(sitting_id)
            trial = trial_next(sitting=sitting)
            if trial is None:
                return Step("done", answered)
            wait = _ask(sitting, backend, trial, clock())
            if wait is not None:
                return Step(wait.state, answered, wait.due)
            answered += 1
    except StudioError as error:
        _stop(sitting, error.message)
        return Step("stopped", answered)
    finally:
        if backend is not None:
            backend.close()
    Sitting.objects.filter(pk=sitting.pk, lease_holder=holder).update(lease_until=None, lease_holder="")
    return Step("more", answered, clock())


def _ask(sitting: Sitting, backend: Backend, trial: TrialRecord, now: datetime) -> Step | None:
    """Put one question. None when it was answered (or failed for good), else what to wait for."""
    shown = Trial.from_dict(trial.shown)
    try:
        answer = backend.answer(shown, _clips(shown, _elsewhere(backend, trial)))
    except Refused as refusal:
        answer = Answer(raw="", failure="refused", error=refusal.message)
    except ProviderError as error:
        answer_or_step = _failed(sitting, error, now)
        if isinstance(answer_or_step, Step):
            return answer_or_step
        answer = answer_or_step
    response_record(
        trial=trial,
        raw=answer.raw,
        failure=answer.failure,
        error=answer.error,
        paradata={
            **answer.paradata,
            **reply_kept(answer.sound),
            "git_revision": git_revision(),
            "attempts": sitting.attempts + 1,
        },
    )
    if sitting.attempts:
        Sitting.objects.filter(pk=sitting.pk).update(attempts=0)
        sitting.attempts = 0
    if answer.failure == "error" and _errors_in_a_row(sitting) >= MAX_ERRORS_IN_A_ROW:
        _stop(sitting, f"Stopped after {MAX_ERRORS_IN_A_ROW} failures in a row. The last one: {answer.error}")
        return Step("stopped")
    return None


def _failed(sitting: Sitting, error: ProviderError, now: datetime) -> Step | Answer:
    """Try again later, stop the run, or let this one question fail: by the decision the error carries."""
    if isinstance(error.decision, Retry) and sitting.attempts + 1 < MAX_TRIES:
        due = now + timedelta(seconds=error.decision.after_s)
        Sitting.objects.filter(pk=sitting.pk).update(attempts=sitting.attempts + 1, lease_until=due, lease_holder="")
        return Step("wait", due=due)
    if error.cause in STOPPING_CAUSES:
        tried = "" if isinstance(error.decision, GiveUp) else f" after {MAX_TRIES} tries"
        _stop(sitting, f"Stopped{tried}. {error.message} What was answered is kept; start the run again to go on.")
        return Step("stopped")
    return Answer(raw="", failure="error", error=error.message, paradata={"cause": error.cause})


def _errors_in_a_row(sitting: Sitting) -> int:
    latest = Response.objects.filter(trial__sitting=sitting).order_by("-pk").values_list("failure", flat=True)
    count = 0
    for failure in latest[:MAX_ERRORS_IN_A_ROW]:
        if failure != "error":
            break
        count += 1
    return count


def _stop(sitting: Sitting, why: str) -> None:
    Sitting.objects.filter(pk=sitting.pk).update(error=why, attempts=0, lease_until=None, lease_holder="")


def _claim(sitting_id: int, holder: str, now: datetime) -> bool:
    free = Q(lease_until=None) | Q(lease_until__lte=now)
    taken_by = Sitting.objects.filter(pk=sitting_id).values_list("lease_holder", flat=True).first()
    if taken_by and _is_dead(taken_by):
        free |= Q(lease_holder=taken_by)
    claimed = (
        Sitting.objects.filter(pk=sitting_id, state=Sitting.State.OPEN, error="")
        .filter(free)
        .update(lease_until=now + LEASE, lease_holder=holder)
    )
    return claimed == 1


def _renew(sitting: Sitting, holder: str, now: datetime) -> bool:
    held = Sitting.objects.filter(pk=sitting.pk, lease_holder=holder, state=Sitting.State.OPEN)
    return held.update(lease_until=now + LEASE) == 1


def _unclaimed(sitting_id: int) -> Step:
    row = Sitting.objects.filter(pk=sitting_id).values("state", "error", "lease_until").first()
    if row is None or row["state"] != Sitting.State.OPEN:
        return Step("done")
    return Step("stopped") if row["error"] else Step("busy", due=row["lease_until"])


def _holder() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}"


def _is_dead(holder: str) -> bool:
    """Whether the process that took a lease is known to be gone: it ran on this host and does not exist any more."""
    host, _, pid = holder.rpartition(":")
    if host != socket.gethostname()[:60] or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _backend(study: Study, alias: str, evaluator: str, *, seed: int) -> Backend:
    kind = backends.get(alias)
    if settings.PRODUCTION and kind.is_fake:
        raise InvalidInput(_("%(alias)s is a fake: it is refused in production.") % {"alias": alias}, field="backend")
    asks = evaluators.get(evaluator)()
    if settings.PRODUCTION and asks.is_fake:
        raise InvalidInput(
            _("%(alias)s is a fake: it is refused in production.") % {"alias": evaluator}, field="evaluator"
        )
    return kind(Exam(instructions=instructions_for(study, asks), seed=seed), asks)


def _backend_of(sitting: Sitting) -> Backend:
    """The backend a sitting was begun with; stops the run where the settings now mean another model."""
    respondent = sitting.respondent
    if respondent.run_spec is None:
        raise Conflict("This sitting is not a model's.")
    content = respondent.run_spec.content
    seed = sitting.order_seed + sitting.run
    backend = _backend(respondent.study, content["backend"], content["evaluator"], seed=seed)
    if (backend.model, backend.parameters()) != (content["model"], content["parameters"]):
        raise Conflict(
            f"This run was begun with {content['model']}, the settings now say {backend.model}. "
            "Set them back to go on, or start a new run."
        )
    return backend


def _elsewhere(backend: Backend, trial: TrialRecord) -> dict[str, Variant]:
    """Sounds of other items by variant, for an evaluator that plays those."""
    if not backend.evaluator.elsewhere:
        return {}
    return swaps_of(study=trial.sitting.respondent.study, dialogue=trial.dialogue)


def _clips(trial: Trial, elsewhere: Mapping[str, Variant]) -> Clips:
    variants = variants_by_uid(uids=variants_in(trial))

    def clip(uid: str) -> ClipAudio:
        other = elsewhere.get(uid)
        return replace(_clip(variants[uid], trial), other=None if other is None else lambda: _clip(other, trial))

    return clip


def _clip(variant: Variant, trial: Trial) -> ClipAudio:
    audio = variant.clip
    if audio is None:
        raise InvalidInput(f"A clip of the question {trial.key} is missing.")
    served = clip_served(clip=audio)
    return ClipAudio(
        variant=variant.uid,
        text=variant.text,
        media_type=served.media_type,
        duration=audio.duration,
        loudness=audio.loudness,
        pitch=audio.pitch,
        read=lambda: _sound(variant, served.sha256),
    )


def _sound(variant: Variant, sha256: str) -> bytes:
    """The bytes of a clip; where they are gone the run stops until they are brought back."""
    try:
        return blob_read(sha256)
    except FileNotFoundError as error:
        dialogue = variant.turn.dialogue
        raise ProviderError(
            f"The sound of line {variant.turn.position} of {dialogue} (dialogue {dialogue.uid}) is missing from the store.",
            cause=SOUND_MISSING,
            decision=GiveUp(),
        ) from error
