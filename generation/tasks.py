"""The worker's side of production: an id in, one step, the next one enqueued on commit."""

from __future__ import annotations

from functools import partial

from celery import Task
from django.db import transaction
from django.utils import timezone

from eqstudio.jobs import cpu_task, gpu_task, io_task
from generation.models import Dialogue
from generation.providers.base import Queue
from generation.selectors import dialogues_due, uploads_due
from generation.services import dialogue_reserve, dialogue_step, leases_reclaim, slots_reclaim, step_queue, upload_run


@io_task
def dialogue_step_io(dialogue_id: int) -> None:
    """A step that waits on a provider behind an API."""
    _advance("io", dialogue_id)


@cpu_task
def dialogue_step_cpu(dialogue_id: int) -> None:
    """A step that computes on this machine."""
    _advance("cpu", dialogue_id)


@gpu_task
def dialogue_step_gpu(dialogue_id: int) -> None:
    """A step that needs an accelerator."""
    _advance("gpu", dialogue_id)


STEP_TASKS: dict[Queue, Task] = {"io": dialogue_step_io, "cpu": dialogue_step_cpu, "gpu": dialogue_step_gpu}

LONGEST_WAIT_S = 120.0
"""What is put off for longer is left to the sweep."""
NEXT, BEGUN_ELSEWHERE, BEHIND = 0, 3, 6
"""Redis hands out what has a lower number first: what follows in the same queue, what comes from another one, what begins.
Scripts are written by many at once; were they spoken and checked in the order of their coming, each would be spoken before
any is checked.
"""


@io_task
def production_sweep() -> None:
    """Hand out dialogues whose next step is due but not running: new ones, put-off ones, and those whose worker died."""
    now = timezone.now()
    leases_reclaim(now=now)
    slots_reclaim(now=now)
    for dialogue in dialogues_due(now=now):
        dialogue_enqueue(dialogue)
    for upload_id in uploads_due(now=now):
        upload_enqueue(upload_id)


@cpu_task
def upload_step(upload_id: int) -> None:
    """Read an upload on for a few minutes; what is to be transcribed is then due."""
    if upload_run(upload_id=upload_id, now=timezone.now()).more:
        upload_enqueue(upload_id)
    production_sweep_now()


def upload_enqueue(upload_id: int) -> None:
    """Give an upload to a worker once this transaction is committed; one that runs already loses nothing by it."""
    transaction.on_commit(partial(upload_step.delay, upload_id), robust=True)


def production_sweep_now() -> None:
    """Have the worker look for what is due once this transaction is committed, instead of at its next round."""
    transaction.on_commit(production_sweep.delay, robust=True)


def dialogue_enqueue(dialogue: Dialogue) -> None:
    """Give the next step of a dialogue to the worker it belongs to, once this transaction is committed.

    It waits behind the dialogues that are under way, so that the first of a batch is whole long before the last.
    """
    queue = step_queue(dialogue)
    if queue and dialogue_reserve(dialogue_id=dialogue.pk, now=timezone.now()):
        enqueue = partial(STEP_TASKS[queue].apply_async, (dialogue.pk,), priority=BEHIND)
        transaction.on_commit(enqueue, robust=True)


def _advance(queue: Queue, dialogue_id: int) -> None:
    """Do a step; hand the next one on, or this one again after the pause that the provider asked for."""
    step = dialogue_step(dialogue_id=dialogue_id, now=timezone.now())
    if step.queue and dialogue_reserve(dialogue_id=dialogue_id, now=timezone.now()):
        priority = NEXT if step.queue == queue else BEGUN_ELSEWHERE
        following = partial(STEP_TASKS[step.queue].apply_async, (dialogue_id,), priority=priority)
        transaction.on_commit(following, robust=True)
    elif step.again_in_s is not None and step.again_in_s < LONGEST_WAIT_S:
        again = partial(STEP_TASKS[queue].apply_async, (dialogue_id,), countdown=step.again_in_s + 0.05)
        transaction.on_commit(again, robust=True)
