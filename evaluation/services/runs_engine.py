"""A model sits the exam: many questions at once, each answered and paid for once, whatever dies in between.

One thread claims dialogues, builds questions, and commits what came back, raw first; the lanes only ask. A slot is free
again when its answer is committed, so a kill repeats no more calls than were under way.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import F, Q
from django.utils.translation import gettext as _

from eqstudio.errors import ProviderError, Refused, Retry
from evaluation.backends import Answer, Backend
from evaluation.models import Response, RunPlan, Sitting
from evaluation.services.runs_budget import calls_reserve, calls_return, spent
from evaluation.services.runs_cases import SOUND_MISSING, Case, cases_read
from evaluation.services.runs_lanes import GATE, Job, Lanes, Result
from evaluation.services.runs_queue import (
    MAX_STOPS,
    RENEW_S,
    holder_name,
    items_claim,
    items_done,
    items_held,
    items_put_off,
    items_release,
    items_renew,
)
from evaluation.services.runs_store import Called, Given, answers_store, called
from evaluation.services.runs_workers import Log
from generation.models import ProviderGate
from generation.services.gates import gate_close, limits_of

MAX_TRIES = 5
MAX_ERRORS_IN_A_ROW = 5
MAX_PAUSES = 5
"""So often in a row may a provider ask for a pause, or not be reached, with no answer in between."""
LOOK_S = 0.5
GATHER_S = 0.004
"""Answers that come within this time of each other are committed together."""
AHEAD = 0.5
"""How many more dialogues than slots are held ready, as a share."""
STOPPING_CAUSES = frozenset({"no credit", "client", "HTTP 401", "HTTP 403", "HTTP 404", SOUND_MISSING})
"""Failures that somebody must mend first: the run stops and says so, rather than spoil its answers."""
WORKER_DIED = "worker died"


@dataclass
class Pace:
    """How many questions at once a provider takes that asked for a pause; it outlives a step. None: as many as may be."""

    room: float | None = None


@dataclass
class Engine:
    """One worker's part in one sitting."""

    sitting: Sitting
    plan: RunPlan
    backend: Backend
    clock: Callable[[], datetime]
    log: Log
    pace: Pace
    told: Callable[[int], None] = lambda _answered: None
    holder: str = field(default_factory=holder_name)
    ready: deque[Case] = field(default_factory=deque)
    held: dict[int, Case] = field(default_factory=dict)
    under_way: int = 0
    answered: int = 0
    why: str = ""
    """Why the run stops; nothing more is asked then."""
    pause_until: datetime | None = None
    leaving: bool = False
    interrupted: bool = False
    errors_in_a_row: int = 0
    looked: float = 0.0
    renewed: float = 0.0

    def __post_init__(self) -> None:
        limit = limits_of(kind=GATE, alias=self.backend.alias).concurrency
        width = min(self.plan.concurrency or self.backend.concurrency, limit or self.backend.concurrency)
        self.batch = self.backend.batch_size
        self.slots = float(2 * self.batch if self.batch else width)
        self.pace.room = min(self.slots, self.pace.room or self.slots)
        self.lanes = Lanes(self.backend, width=1 if self.batch else width)
        self.errors_in_a_row = _errors_in_a_row(self.sitting)
        self.renewed = time.monotonic()

    def run(self, *, until: float) -> None:
        """Ask until nothing is left that may be asked now, the run must stop, or the monotonic clock says ``until``."""
        try:
            while self._go_on(until):
                try:
                    self._feed()
                    if not self.under_way:
                        return
                    self._settle(self.lanes.results(LOOK_S, GATHER_S if self.slots > 1 else 0))
                except KeyboardInterrupt:
                    if self.interrupted:
                        raise
                    self.leaving = self.interrupted = True  # what is under way is paid for: it is waited for and kept
        finally:
            self.lanes.close()
            items_release(sitting=self.sitting, holder=self.holder)
            self.log.close(answered=self.answered)
        if self.interrupted:
            raise KeyboardInterrupt

    def _go_on(self, until: float) -> bool:
        now = time.monotonic()
        if now >= until:
            self.leaving = True
        if now - self.looked >= LOOK_S:
            self.looked = now
            self._look(now)
        return bool(self.under_way or not self._is_ending())

    def _is_ending(self) -> bool:
        return self.leaving or bool(self.why) or self.pause_until is not None

    def _look(self, now: float) -> None:
        """See whether somebody stopped or paused the run, hold on to the leases, say how far this worker is."""
        row = Sitting.objects.filter(pk=self.sitting.pk).values("state", "error").first()
        if row is None or row["state"] != Sitting.State.OPEN or row["error"]:
            self.leaving = True
        self.pause_until = self.pause_until or paused_until(self.sitting, self.backend.alias, self.clock())
        if now - self.renewed >= RENEW_S:
            self.renewed = now
            if items_renew(sitting=self.sitting, holder=self.holder, now=self.clock()) != len(self.held):
                mine = items_held(sitting=self.sitting, holder=self.holder)
                self.held = {pk: case for pk, case in self.held.items() if pk in mine}
                self.ready = deque(case for case in self.ready if case.item.pk in mine)
        self.log.tell(answered=self.answered, now=self.clock())

    def _feed(self) -> None:
        """Give the lanes as much as there is room for."""
        while not self._is_ending():
            free = int(self.pace.room or self.slots) - self.under_way
            if free <= 0:
                return
            if len(self.ready) < free:
                self._claim(free - len(self.ready) + int(self.slots * AHEAD))
            wanted = min(free, len(self.ready), self.batch or free)
            if not wanted or (self.batch and self.under_way and wanted < self.batch):
                return
            granted = calls_reserve(plan=self.plan, count=wanted)
            if not granted:
                self.why = spent(self.plan)
                return
            self._submit(granted)

    def _submit(self, count: int) -> None:
        now, jobs = self.clock(), []
        for _number in range(count):
            case = self.ready.popleft()
            case.item.first_try = case.item.first_try or now
            if case.pending is not None:
                jobs.append(Job(case, case.pending, case.clips))
        self.under_way += len(jobs)
        self.lanes.submit(jobs)

    def _claim(self, count: int) -> None:
        items = items_claim(sitting=self.sitting, holder=self.holder, now=self.clock(), count=count)
        if not items:
            return
        cases = cases_read(sitting=self.sitting, items=items, elsewhere=self.backend.evaluator.elsewhere)
        self.held.update((case.item.pk, case) for case in cases)
        for case in cases:
            if case.item.stops >= MAX_STOPS:
                self._give_up(case)
        self._sort(cases)

    def _give_up(self, case: Case) -> None:
        """Let all questions of a dialogue fail that ends every worker who asks it."""
        message = _("%(n)d workers died while they asked this.") % {"n": MAX_STOPS}
        answer = Answer(raw="", failure="error", error=message, paradata={"cause": WORKER_DIED})
        while case.pending is not None:
            given = Given(case, case.pending, answer)
            self.answered += len(
                answers_store(sitting=self.sitting, plan=self.plan, model=self.backend.model, given=[given], calls=[])
            )

    def _sort(self, cases: list[Case]) -> None:
        """Cases with a question get in line; the others are through."""
        through = [case for case in cases if case.pending is None]
        if through:
            items_done(items=[case.item for case in through])
            for case in through:
                self.held.pop(case.item.pk, None)
        self.ready.extend(case for case in cases if case.pending is not None)

    def _settle(self, results: list[Result]) -> None:
        """Commit what came back, decide about what failed, and let the dialogues go on."""
        self.under_way -= len(results)
        self.log.calls += len(results)
        given: list[Given] = []
        calls: list[Called] = []
        put_off: list[Case] = []
        for result in results:
            self._take(result, given, calls, put_off)
        self._store(given, calls)
        if put_off:
            items_put_off(items=[case.item for case in put_off], holder=self.holder)
            for case in put_off:
                self.held.pop(case.item.pk, None)

    def _take(self, result: Result, given: list[Given], calls: list[Called], put_off: list[Case]) -> None:
        job, outcome = result.job, result.outcome
        if isinstance(outcome, Refused):
            outcome = Answer(raw="", failure="refused", error=outcome.message)
        if isinstance(outcome, Answer):
            calls.append(
                called(
                    job.case, job.trial, outcome, model=self.backend.model, at=result.at, latency_ms=result.latency_ms
                )
            )
            given.append(Given(job.case, job.trial, outcome))
            self._went_well()
            return
        if not isinstance(outcome, ProviderError):
            self.why = self.why or outcome.message
            return
        if outcome.cause != "busy":
            calls.append(
                Called(
                    case=job.case,
                    key=job.trial.key,
                    outcome="error",
                    at=result.at,
                    latency_ms=result.latency_ms,
                    cause=outcome.cause,
                    error=outcome.message,
                )
            )
        answer = self._failed(job.case, outcome, put_off)
        if answer is not None:
            given.append(Given(job.case, job.trial, answer))

    def _went_well(self) -> None:
        self.errors_in_a_row = 0
        room = self.pace.room or self.slots
        self.pace.room = min(self.slots, room + 1 / max(1.0, room))
        if self.sitting.pauses:
            Sitting.objects.filter(pk=self.sitting.pk).update(pauses=0)
            self.sitting.pauses = 0

    def _failed(self, case: Case, error: ProviderError, put_off: list[Case]) -> Answer | None:
        """Pause everybody, try this one again later, stop the run, or let the question fail: as the error decides.

        None where the question is not answered yet.
        """
        now, item, decision = self.clock(), case.item, error.decision
        if isinstance(decision, Retry):
            due = now + timedelta(seconds=decision.after_s)
            if error.cause == "busy":
                item.first_try, item.lease_until = None, due
                put_off.append(case)
                calls_return(plan=self.plan, count=1)
                return None
            if decision.pause or error.cause == "unreachable":
                item.first_try, item.lease_until = None, due
                put_off.append(case)
                self._pause(error, due, everybody=decision.pause)
                return None
            in_time = item.first_try is None or due - item.first_try < timedelta(seconds=settings.EXAM_DEADLINE_S)
            if item.tries + 1 < MAX_TRIES and in_time:
                item.tries += 1
                item.lease_until = due
                put_off.append(case)
                return None
        item.tries += 1
        if error.cause in STOPPING_CAUSES:
            self._stop(
                _("Stopped. %(said)s What was answered is kept; start the run again to go on.")
                % {"said": error.message}
            )
        if not self.why:
            self.errors_in_a_row += 1
            if self.errors_in_a_row >= MAX_ERRORS_IN_A_ROW:
                self._stop(
                    _("Stopped after %(n)d failures in a row. The last one: %(said)s")
                    % {"n": MAX_ERRORS_IN_A_ROW, "said": error.message}
                )
            return Answer(raw="", failure="error", error=error.message, paradata={"cause": error.cause})
        item.tries, item.first_try, item.lease_until = 0, None, None
        put_off.append(case)
        return None

    def _stop(self, why: str) -> None:
        self.why = self.why or why

    def _pause(self, error: ProviderError, due: datetime, *, everybody: bool) -> None:
        """The provider is to be left alone: this run does not ask it before ``due``, and then less at once; ``everybody``
        holds for all runs that ask it.

        Calls that were under way when it said so first say nothing new.
        """
        now = self.clock()
        if everybody:
            gate_close(kind=GATE, alias=self.backend.alias, after_s=max(0.0, (due - now).total_seconds()))
        if self.pause_until is not None:
            self.pause_until = max(self.pause_until, due)
            return
        self.pause_until = due
        self.pace.room = max(1.0, (self.pace.room or self.slots) / 2)
        open_now = Q(not_before=None) | Q(not_before__lte=now)
        paused = Sitting.objects.filter(open_now, pk=self.sitting.pk)
        paused.update(not_before=due, pauses=F("pauses") + 1)
        self.sitting.refresh_from_db(fields=["not_before", "pauses"])
        if self.sitting.pauses >= MAX_PAUSES:
            self._stop(
                _(
                    "Stopped after %(n)d tries with a pause in between. %(said)s What was answered is kept; start the run again to go on."
                )
                % {"n": MAX_PAUSES, "said": error.message}
            )

    def _store(self, given: list[Given], calls: list[Called]) -> None:
        if not given and not calls:
            return
        kept = answers_store(sitting=self.sitting, plan=self.plan, model=self.backend.model, given=given, calls=calls)
        new = {id(one.case) for one in kept}
        for one in given:
            if one.case.pending is None and id(one.case) not in new:
                self.held.pop(one.case.item.pk, None)
        self.answered += len(kept)
        self.told(self.answered)
        self._sort([one.case for one in kept])


def paused_until(sitting: Sitting, alias: str, now: datetime) -> datetime | None:
    """Until when this sitting, or anybody who asks its provider, is to wait; None when it may be asked now."""
    mine = Sitting.objects.filter(pk=sitting.pk, not_before__gt=now).values_list("not_before", flat=True).first()
    gate = ProviderGate.objects.filter(name=f"{GATE}:{alias}", not_before__gt=now)
    everybody = gate.values_list("not_before", flat=True).first()
    return max((until for until in (mine, everybody) if until is not None), default=None)


def _errors_in_a_row(sitting: Sitting) -> int:
    """How many of the latest answers are none."""
    latest = Response.objects.filter(trial__sitting=sitting, trial__retake=None).order_by("-pk")
    count = 0
    for failure in latest.values_list("failure", flat=True)[:MAX_ERRORS_IN_A_ROW]:
        if failure != "error":
            break
        count += 1
    return count
