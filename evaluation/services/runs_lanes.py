"""Threads that do nothing but ask a backend: they never touch the database, and one thread of the engine does all the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from queue import Empty, SimpleQueue

import structlog
from django.db import connections
from django.utils import timezone

from eqstudio.benchmarks.base import Trial
from eqstudio.errors import GiveUp, ProviderError, Retry, StudioError
from eqstudio.net import redact
from evaluation.backends import Answer, Backend
from evaluation.backends.base import Clips
from evaluation.services.runs_cases import Case
from generation.services.gates import Busy, gate_pass, limits_of

log = structlog.get_logger(__name__)
GATE = "exam"
"""Under this kind the provider of a run stands in the limits and gates that all workers share."""


@dataclass(frozen=True)
class Job:
    case: Case
    trial: Trial
    clips: Clips


@dataclass(frozen=True)
class Result:
    """What came of one call. A StudioError that is no ProviderError stops the run."""

    job: Job
    outcome: Answer | StudioError
    at: datetime
    latency_ms: int


class Lanes:
    """``width`` threads, or one that is given whole batches."""

    def __init__(self, backend: Backend, *, width: int) -> None:
        self.backend = backend
        self.done: SimpleQueue[Result] = SimpleQueue()
        self._jobs: SimpleQueue[Sequence[Job] | None] = SimpleQueue()
        limits = limits_of(kind=GATE, alias=backend.alias)
        self._limited = limits.concurrency is not None or limits.per_minute is not None
        self._threads = [
            threading.Thread(target=self._work, name=f"exam-{number}", daemon=True) for number in range(width)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, jobs: Sequence[Job]) -> None:
        """Have these asked: one by one where the backend takes single questions, else in one call."""
        if self.backend.batch_size:
            self._jobs.put(jobs)
            return
        for job in jobs:
            self._jobs.put([job])

    def results(self, timeout_s: float, gather_s: float) -> list[Result]:
        """What came in: waits up to ``timeout_s`` for the first, then ``gather_s`` for those that come with it."""
        try:
            found = [self.done.get(timeout=timeout_s)]
        except Empty:
            return []
        if gather_s:
            time.sleep(gather_s)
        while True:
            try:
                found.append(self.done.get_nowait())
            except Empty:
                return found

    def close(self) -> None:
        """Let every thread finish the call it is in, then end."""
        while True:
            try:
                self._jobs.get_nowait()
            except Empty:
                break
        for _thread in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        try:
            while (jobs := self._jobs.get()) is not None:
                at, began = timezone.now(), time.monotonic()
                outcomes = self._ask(jobs)
                latency_ms = round((time.monotonic() - began) * 1000 / len(jobs))
                for job, outcome in zip(jobs, outcomes, strict=True):
                    self.done.put(Result(job, outcome, at, latency_ms))
        finally:
            if self._limited:
                connections.close_all()

    def _ask(self, jobs: Sequence[Job]) -> Sequence[Answer | StudioError]:
        try:
            if not self._limited:
                return self._answers(jobs)
            with gate_pass(kind=GATE, alias=self.backend.alias):
                return self._answers(jobs)
        except Busy as busy:
            told = ProviderError(busy.message, cause="busy", decision=Retry(busy.after_s))
            return [told] * len(jobs)
        except StudioError as error:
            return [error] * len(jobs)
        except Exception as error:
            # A backend may be anybody's code. What it throws is the failure of this question; five in a row end the run.
            log.exception("a backend failed in a way of its own", backend=self.backend.alias)
            message = redact(f"{type(error).__name__}: {error}")[:500]
            return [ProviderError(message, cause=type(error).__name__[:40], decision=GiveUp())] * len(jobs)

    def _answers(self, jobs: Sequence[Job]) -> Sequence[Answer | StudioError]:
        if not self.backend.batch_size:
            return [self.backend.answer(job.trial, job.clips) for job in jobs]
        found = self.backend.answers([(job.trial, job.clips) for job in jobs])
        if len(found) != len(jobs):
            raise ProviderError(
                f"The backend gave {len(found)} answers to {len(jobs)} questions.",
                cause="miscounted",
                decision=GiveUp(),
            )
        return found
