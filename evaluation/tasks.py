"""Background steps of model runs, of judge models and of files of answers. Each can be run twice without harm."""

from __future__ import annotations

import time

from django.db import transaction
from django.utils import timezone

from eqstudio.jobs import cpu_task, gpu_task, io_task
from evaluation.models import AnswerIntake
from evaluation.selectors import queue_of, sittings_due
from evaluation.services import sitting_advance
from evaluation.services.intakes import intake_run, intakes_due
from evaluation.services.judge_work import judge_step, judges_due
from evaluation.services.runs import STEP_SECONDS, Step
from evaluation.services.runs_engine import Pace
from evaluation.services.runs_queue import items_reclaim

SWEEP_AT_MOST = 200
WAIT_S = 20.0
"""A pause no longer than this is waited for; after a longer one the sweep takes the sitting up again."""
GPU_SECONDS = 5 * 3600.0


@io_task
def sitting_step(sitting_id: int) -> None:
    """Answer questions of a sitting whose model is asked over the network; more of them are the next step."""
    _work(sitting_id, STEP_SECONDS)


@gpu_task
def sitting_compute(sitting_id: int) -> None:
    """Answer the questions of a sitting whose model runs here: it is loaded once and stays for the next sitting."""
    _work(sitting_id, GPU_SECONDS)


@io_task
def sittings_sweep() -> None:
    """Enqueue every model sitting, judge and file of answers that is due; what dead processes held of a sitting comes free
    first.
    """
    now = timezone.now()
    for sitting in sittings_due(now=now)[:SWEEP_AT_MOST]:
        items_reclaim(sitting=sitting, now=now)
        sitting_enqueue(sitting.pk)
    for judge in judges_due(now=now)[:SWEEP_AT_MOST]:
        replies_step.delay(judge)
    for intake in intakes_due(now=now).values_list("pk", flat=True)[:SWEEP_AT_MOST]:
        answers_take.delay(intake)


def sitting_enqueue(sitting_id: int) -> None:
    """Hand the next step of a sitting to the workers that can take it."""
    task = sitting_compute if queue_of(sitting_id=sitting_id) == "gpu" else sitting_step
    task.delay(sitting_id)


def _work(sitting_id: int, seconds: float) -> None:
    pace, until = Pace(), time.monotonic() + seconds
    while True:
        left = until - time.monotonic()
        step = sitting_advance(sitting_id=sitting_id, seconds=max(0.0, left), pace=pace)
        if step.state == "more":
            transaction.on_commit(lambda: sitting_enqueue(sitting_id))
            return
        pause = _pause(step)
        if pause is None or pause > min(WAIT_S, left):
            return
        time.sleep(pause)


def _pause(step: Step) -> float | None:
    """Seconds until the step may be tried again; None when there is nothing to wait for."""
    if step.state != "wait" or step.due is None:
        return None
    return max(0.05, (step.due - timezone.now()).total_seconds())


@io_task
def replies_step(judge_id: int) -> None:
    """Let a judge model grade the next replies; more of them are the next step."""
    if judge_step(judge_id=judge_id):
        transaction.on_commit(lambda: replies_step.delay(judge_id))


@cpu_task
def answers_take(intake_id: int) -> None:
    """Take in the answers of a file that was sent to the page, or look at them; what is left is the next step."""
    intake = intake_run(intake_id=intake_id, now=timezone.now())
    if intake.state == AnswerIntake.State.WAITING:
        transaction.on_commit(lambda: answers_take.delay(intake_id))
