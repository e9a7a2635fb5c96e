"""The three decorators by which a task is declared; ``shared_task`` itself is banned by the linter.

A task takes ids, calls one service, and enqueues the next step on commit. It can be run twice without harm: it is
acknowledged late and handed out again when its worker dies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from celery import shared_task

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMON: dict[str, Any] = {"acks_late": True, "reject_on_worker_lost": True, "ignore_result": True}
_LONG: dict[str, Any] = {"acks_late": False, "ignore_result": True}
"""Longer than the broker waits before it hands a task out again, so it is acknowledged at once: after a kill the sweep
finds the row whose lease has run out."""


def io_task(function: Callable[..., Any]) -> Any:
    """Waits on the network or the database: text models, voices and judges behind an API. Up to 10 minutes."""
    return shared_task(**_COMMON, name=_name("io", function), soft_time_limit=600, time_limit=660)(function)


def cpu_task(function: Callable[..., Any]) -> Any:
    """Computes on this machine: local voices, transcripts, exports. Up to 10 minutes a step; long walks chunk."""
    return shared_task(**_COMMON, name=_name("cpu", function), soft_time_limit=600, time_limit=660)(function)


def gpu_task(function: Callable[..., Any]) -> Any:
    """Needs an accelerator. One at a time per worker, up to 6 hours; progress is in rows, so a kill loses one batch."""
    return shared_task(**_LONG, name=_name("gpu", function), soft_time_limit=21_000, time_limit=21_600)(function)


def _name(queue: str, function: Callable[..., Any]) -> str:
    return f"{queue}.{function.__module__}.{function.__name__}"
