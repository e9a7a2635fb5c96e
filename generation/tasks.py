"""The worker's side of production: an id in, one step, the next one enqueued on commit."""

from __future__ import annotations

from functools import partial

from celery import Task
from django.db import transaction
from django.utils import timezone

from eqstudio.jobs import cpu_task, gpu_task, io_task
from generation.models import Dialogue
from generation.providers.base import Queue
from generation.selectors import dialogues_due
from generation.services import dialogue_advance, dialogue_reserve, leases_reclaim, step_queue


@io_task
def dialogue_step_io(dialogue_id: int) -> None:
    """A step that waits on a provider behind an API."""
    _advance(dialogue_id)


@cpu_task
def dialogue_step_cpu(dialogue_id: int) -> None:
    """A step that computes on this machine."""
    _advance(dialogue_id)


@gpu_task
def dialogue_step_gpu(dialogue_id: int) -> None:
    """A step that needs an accelerator."""
    _advance(dialogue_id)


STEP_TASKS: dict[Queue, Task] = {"io": dialogue_step_io, "cpu": dialogue_step_cpu, "gpu": dialogue_step_gpu}

BEHIND = 6
"""Redis hands out what has a lower number first; a follow-up step has none, which is 0."""


@io_task
def production_sweep() -> None:
    """Hand out dialogues whose next step is due but not running: new ones, put-off ones, and those whose worker died."""
    now = timezone.now()
    leases_reclaim(now=now)
    for dialogue in dialogues_due(now=now):
        dialogue_enqueue(dialogue)


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


def _advance(dialogue_id: int) -> None:
    queue = dialogue_advance(dialogue_id=dialogue_id, now=timezone.now())
    if queue and dialogue_reserve(dialogue_id=dialogue_id, now=timezone.now()):
        transaction.on_commit(partial(STEP_TASKS[queue].delay, dialogue_id), robust=True)
