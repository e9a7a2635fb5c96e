"""Many dialogues at once in one process: each goes its steps in order, those that wait on a provider side by side."""

from __future__ import annotations

import heapq
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from queue import Empty, SimpleQueue

from django.db import connections
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.errors import StudioError
from generation.lane_process import lane_process
from generation.models import Dialogue
from generation.providers.base import Queue
from generation.selectors.production import going
from generation.services.gates import calls_share
from generation.services.leases import leases_reclaim
from generation.services.production import Step, dialogue_step, step_queue

POLL_S = 0.5
"""How long to leave alone what is being worked on elsewhere."""
RECLAIM_S = 5.0
OPEN_PER_CONNECTION = 3
"""How many dialogues are under way or put off at a time, however long the batch: memory does not grow with it."""
THREADS_PER_CONNECTION = 2
"""While one is in a call, another stores and measures what came."""
CHUNK = 200
IDS_CHUNK = 1000


@dataclass
class _Done:
    dialogue_id: int
    queue: Queue
    step: Step
    going: bool
    error: BaseException | None = None


@dataclass
class _Lanes:
    """Threads by queue: many for what waits on a provider, one each for what computes here.

    Of the many, ``connections`` are in a call at a time; the others store and measure what came, so that no connection waits
    for the database or the processor.
    """

    connections: int
    done: SimpleQueue[_Done] = field(default_factory=SimpleQueue)
    jobs: dict[Queue, SimpleQueue[int | None]] = field(default_factory=dict)
    threads: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.permits = threading.Semaphore(self.connections)

    def submit(self, queue: Queue, dialogue_id: int) -> None:
        if queue not in self.jobs:
            self.jobs[queue] = SimpleQueue()
            for number in range(self._width(queue)):
                thread = threading.Thread(target=self._work, args=(queue,), name=f"{queue}-{number}", daemon=True)
                thread.start()
                self.threads.append(thread)
        self.jobs[queue].put(dialogue_id)

    def close(self) -> None:
        """Let every thread finish the step it is in, then end."""
        for queue, jobs in self.jobs.items():
            while True:
                try:
                    jobs.get_nowait()
                except Empty:
                    break
            for _number in range(self._width(queue)):
                jobs.put(None)
        for thread in self.threads:
            thread.join()

    def _width(self, queue: Queue) -> int:
        return self.connections * THREADS_PER_CONNECTION if queue == "io" else 1

    def _work(self, queue: Queue) -> None:
        if queue == "io":
            calls_share(self.permits)
        try:
            while (dialogue_id := self.jobs[queue].get()) is not None:
                self.done.put(_advanced(queue, dialogue_id))
        finally:
            connections.close_all()


def _advanced(queue: Queue, dialogue_id: int) -> _Done:
    try:
        step = dialogue_step(dialogue_id=dialogue_id, now=timezone.now())
        on = bool(step.queue) or Dialogue.objects.filter(going(), pk=dialogue_id).exists()
    except BaseException as error:  # noqa: BLE001 -- it is raised again in the thread that asked
        return _Done(dialogue_id, queue, Step(), going=False, error=error)
    return _Done(dialogue_id, queue, step, going=on)


def dialogues_run_many(*, ids: Iterable[int], connections: int, told: Callable[[int], None]) -> None:
    """Advance these dialogues until none is in production, ``connections`` provider calls at a time. ``told`` hears of each
    that is finished, or stopped with its batch.

    Side effects: those of the steps. Interrupted, every thread ends its step and begins no other; an error that no step
    expects is raised when the others have ended.
    """
    lanes = _Lanes(connections)
    try:
        _Run(lanes, _queued(ids), connections * OPEN_PER_CONNECTION, told).to_the_end()
    finally:
        lanes.close()


def dialogues_run_shared(
    *, dialogues: QuerySet[Dialogue], connections: int, processes: int, told: Callable[[int], None]
) -> None:
    """As ``dialogues_run_many``, by several processes, since one alone has no more than one core for all its threads.

    StudioError when one of them ended before its share was done; what was made is kept.
    """
    context, query = get_context("spawn"), pickle.dumps(dialogues.query)
    children: dict[Connection, SpawnProcess] = {}
    for number in range(processes):
        ours, theirs = context.Pipe(duplex=False)
        share, own = (number, processes), max(1, connections // processes)
        child = context.Process(target=lane_process, args=(theirs, query, share, own), daemon=True)
        child.start()
        theirs.close()
        children[ours] = child
    listening = dict(children)
    try:
        while listening:
            for ready in wait(list(listening)):
                if not isinstance(ready, Connection):
                    continue
                try:
                    told(ready.recv())
                except EOFError:
                    listening.pop(ready)
    finally:
        for ours, child in children.items():
            ours.close()
            child.join()
    broken = [child.exitcode for child in children.values() if child.exitcode]
    if broken:
        raise StudioError(
            _("A process of the pipeline ended (exit code %(code)s). What was made is kept; run the command again.")
            % {"code": broken[0]}
        )


def share_run(*, query: bytes, share: tuple[int, int], connections: int, told: Callable[[int], None]) -> None:
    """One process' share of the dialogues that a query finds (as the process that asks has pickled it): every n-th by its id."""
    dialogues = Dialogue.objects.all()
    dialogues.query = pickle.loads(query)  # noqa: S301 -- from the process that started this one
    number, processes = share
    mine = (dialogue_id for dialogue_id in ids_of(dialogues) if dialogue_id % processes == number)
    dialogues_run_many(ids=mine, connections=connections, told=told)


def ids_of(dialogues: QuerySet[Dialogue]) -> Iterator[int]:
    """Their ids in order, a page at a time, with no query open in between."""
    last = 0
    while page := list(dialogues.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:IDS_CHUNK]):
        yield from page
        last = page[-1]


@dataclass
class _Run:
    """What one thread keeps in mind: the dialogues whose steps are under way, and those put off until later."""

    lanes: _Lanes
    feed: Iterator[tuple[int, Queue | None]]
    room: int
    told: Callable[[int], None]
    under_way: int = 0
    later: list[tuple[float, int, Queue]] = field(default_factory=list)
    reclaim_at: float = 0.0

    def to_the_end(self) -> None:
        while self._begin():
            now = time.monotonic()
            if now >= self.reclaim_at:
                leases_reclaim(now=timezone.now())
                self.reclaim_at = now + RECLAIM_S
            while self.later and self.later[0][0] <= now:
                _at, dialogue_id, queue = heapq.heappop(self.later)
                self._submit(queue, dialogue_id)
            longest = min(self.later[0][0] - now, POLL_S) if self.later else POLL_S
            try:
                self._hear(self.lanes.done.get(timeout=max(0.01, longest)))
            except Empty:
                continue

    def _begin(self) -> bool:
        """Take in dialogues while there is room; False when nothing is left at all."""
        while self.under_way + len(self.later) < self.room:
            dialogue_id, queue = next(self.feed, (0, None))
            if queue:
                self._submit(queue, dialogue_id)
            elif dialogue_id:
                self.told(dialogue_id)
            else:
                return bool(self.under_way or self.later)
        return True

    def _submit(self, queue: Queue, dialogue_id: int) -> None:
        self.lanes.submit(queue, dialogue_id)
        self.under_way += 1

    def _hear(self, done: _Done) -> None:
        if done.error is not None:
            raise done.error
        self.under_way -= 1
        if done.step.queue:
            self._submit(done.step.queue, done.dialogue_id)
        elif done.going:
            wait_s = POLL_S if done.step.again_in_s is None else done.step.again_in_s
            heapq.heappush(self.later, (time.monotonic() + wait_s, done.dialogue_id, done.queue))
        else:
            self.told(done.dialogue_id)


def _queued(ids: Iterable[int]) -> Iterator[tuple[int, Queue | None]]:
    """The ids with the queue of the next step each, read a chunk at a time; None where nothing is due any more."""
    remaining = iter(ids)
    while chunk := list(islice(remaining, CHUNK)):
        rows = Dialogue.objects.filter(going(), pk__in=chunk).select_related("brief")
        queues = {row.pk: step_queue(row) for row in rows}
        yield from ((dialogue_id, queues.get(dialogue_id)) for dialogue_id in chunk)
