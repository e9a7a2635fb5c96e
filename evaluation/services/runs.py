"""A model sits the exam: entered with its limits, advanced step by step by whoever has time, resumable at any point."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.utils import timezone

from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput, StudioError
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.backends import Backend
from evaluation.models import Respondent, Sitting, Study
from evaluation.services.provenance import run_spec_ensure
from evaluation.services.runs_backend import backend_leave, backend_make, backend_of, backend_seated
from evaluation.services.runs_budget import Limits, limits_over, limits_set, plan_of
from evaluation.services.runs_engine import Engine, Pace, paused_until
from evaluation.services.runs_queue import items_reclaim, queue_fill, queue_look
from evaluation.services.runs_workers import Log
from evaluation.services.sittings import sitting_finish, sitting_open, sitting_resume

log = structlog.get_logger(__name__)
STEP_SECONDS = 120.0
"""How long a worker keeps to one sitting before others have their turn."""
_POLL_S = 5.0
_here: set[int] = set()
_here_lock = threading.Lock()


@dataclass(frozen=True)
class Step:
    """What a step came to: ``done``, ``stopped``, ``more``, ``wait`` or ``busy``. ``due``: when the next one may be tried."""

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
    limits: Limits | None = None,
    actor: User | None = None,
) -> Respondent:
    """Enter a model for a study: one Respondent with its RunSpec and ``runs`` sittings, to be advanced step by step.

    Where options are offered the number of runs is even, so that each item is asked in both orders equally often; a single run
    is the first half of two and is marked on the leaderboard until the second. The same RunSpec again resumes: stopped sittings may go on, a larger limit asks the further items, and what is set in
    ``limits`` takes the place of what was set before. Writes one Event, and one more for limits.
    """
    if runs < 1:
        raise InvalidInput("A model sits at least once.", field="runs")
    if runs > 1 and runs % 2 == 1 and benchmark_get(study.benchmark).scale is None:
        raise InvalidInput(
            f"{runs} runs show the two orders of the options unequally often: give an even number.", field="runs"
        )
    if limit is not None and limit < 1:
        raise InvalidInput("The limit is a number of items, at least 1.", field="limit")
    if not study.is_open:
        raise Conflict("This study is closed; it takes no more answers.")
    one = backend_make(study, backend, evaluator, seed=study.seed)
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
    if limits is not None and limits != Limits():
        limits_set(respondent=respondent, limits=limits_over(plan_of(respondent=respondent), limits), actor=actor)
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
    *,
    respondent: Respondent,
    clock: Callable[[], datetime] = timezone.now,
    sleep: Callable[[float], None] = time.sleep,
    told: Callable[[Sitting, int], None] = lambda _sitting, _answered: None,
) -> list[Sitting]:
    """Advance all sittings of a respondent in this process until each is finished or stopped; waits where it must.

    ``told`` hears how many questions of a sitting were answered here so far. A KeyboardInterrupt waits for the calls
    under way and is then raised.
    """
    for sitting in respondent.sittings.order_by("run"):
        pace, before = Pace(), 0
        while True:
            step = sitting_advance(
                sitting_id=sitting.pk,
                clock=clock,
                seconds=float("inf"),
                pace=pace,
                told=lambda answered, sitting=sitting, before=before: told(sitting, before + answered),  # type: ignore[misc]
            )
            before += step.answered
            if step.state in {"done", "stopped"}:
                break
            if step.due is not None:
                sleep(min(_POLL_S, max(0.05, (step.due - clock()).total_seconds())))
    return list(respondent.sittings.order_by("run").select_related("respondent__study__split"))


def sitting_advance(
    *,
    sitting_id: int,
    clock: Callable[[], datetime] = timezone.now,
    seconds: float = STEP_SECONDS,
    pace: Pace | None = None,
    told: Callable[[int], None] = lambda _answered: None,
) -> Step:
    """Answer questions of one sitting for at most ``seconds``, as many at once as its backend takes.

    Any number of processes may do so for one sitting; a second call in this process is ``busy``. Inserts TrialRecords,
    Responses, ScoreRecords and the ledger, moves leases, and writes why a run stopped into ``error``.
    """
    sitting = Sitting.objects.select_related("respondent__study__split", "respondent__run_spec").get(pk=sitting_id)
    with _alone(sitting_id) as alone:
        if not alone:
            return Step("busy")
        over = _over(sitting)
        if over is not None:
            return over
        try:
            made = backend_of(sitting=sitting)
            until = paused_until(sitting, made.alias, clock())
            if until is not None:
                return Step("wait", due=until)
            return _advance(sitting, made, _Terms(clock, time.monotonic() + seconds, pace or Pace(), told))
        except StudioError as error:
            _stop(sitting, error.message)
            return Step("stopped")


@dataclass(frozen=True)
class _Terms:
    clock: Callable[[], datetime]
    until: float
    pace: Pace
    told: Callable[[int], None]


def _advance(sitting: Sitting, made: Backend, terms: _Terms) -> Step:
    plan = plan_of(respondent=sitting.respondent)
    queue_fill(sitting=sitting)
    items_reclaim(sitting=sitting, now=terms.clock())
    backend, load_s = _loaded(made)
    worker = Log(sitting, now=terms.clock(), load_s=load_s)
    engine = Engine(
        sitting=sitting, plan=plan, backend=backend, clock=terms.clock, log=worker, pace=terms.pace, told=terms.told
    )
    try:
        engine.run(until=terms.until)
    finally:
        backend_leave(backend=backend)
    if engine.why:
        _stop(sitting, engine.why)
        return Step("stopped", engine.answered)
    return _after(sitting, engine, terms.clock())


def _after(sitting: Sitting, engine: Engine, now: datetime) -> Step:
    """What follows once this worker has nothing more to ask for now."""
    sitting.refresh_from_db(fields=["state", "error"])
    over = _over(sitting)
    if over is not None:
        return Step(over.state, engine.answered)
    waiting = queue_look(sitting=sitting)
    if not waiting.left:
        sitting_finish(sitting=sitting)
        return Step("done", engine.answered)
    if engine.pause_until is not None and engine.pause_until > now:
        return Step("wait", engine.answered, engine.pause_until)
    if waiting.due is None or waiting.due <= now:
        return Step("more", engine.answered, now)
    return Step("wait", engine.answered, waiting.due)


def _over(sitting: Sitting) -> Step | None:
    if sitting.state != Sitting.State.OPEN:
        return Step("done")
    return Step("stopped") if sitting.error else None


def _loaded(backend: Backend) -> tuple[Backend, float | None]:
    """The backend with its model in memory. What goes wrong there would go wrong again: the run stops and says it."""
    try:
        return backend_seated(backend=backend)
    except StudioError:
        raise
    except Exception as error:
        log.exception("the model could not be loaded", backend=backend.alias, model=backend.model)
        raise InvalidInput(f"{backend.model} could not be loaded: {type(error).__name__}: {error}"[:1000]) from error


@contextmanager
def _alone(sitting_id: int) -> Iterator[bool]:
    """Whether nobody else in this process works on the sitting: its threads are enough."""
    with _here_lock:
        mine = sitting_id not in _here
        _here.add(sitting_id)
    try:
        yield mine
    finally:
        if mine:
            _here.discard(sitting_id)


def _stop(sitting: Sitting, why: str) -> None:
    """Write why a sitting stopped, once: the first reason stands."""
    Sitting.objects.filter(pk=sitting.pk, state=Sitting.State.OPEN, error="").update(error=why, pauses=0)
