"""The Celery application. Rows are the result, so there is no result backend."""

from __future__ import annotations

import os
from typing import Any

import structlog
from celery import Celery
from celery.contrib.django.task import DjangoTask
from celery.result import AsyncResult
from django_structlog.celery.steps import DjangoStructLogInitStep
from kombu.exceptions import OperationalError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "eqstudio.settings")

log = structlog.get_logger(__name__)


class StudioTask(DjangoTask):  # type: ignore[misc]
    """A task whose broker may be gone: the row that made it due is committed, so the sweep enqueues it again."""

    abstract = True

    def apply_async(self, *args: Any, **options: Any) -> AsyncResult:
        try:
            return super().apply_async(*args, **{"retry": False, **options})
        except OperationalError as error:
            log.warning(
                "the broker does not answer; the sweep will enqueue this again", task=self.name, error=str(error)
            )
            return AsyncResult(options.get("task_id") or "not-enqueued")


app = Celery("eqstudio", task_cls=StudioTask)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()
app.autodiscover_tasks(["evaluation.demo"])
