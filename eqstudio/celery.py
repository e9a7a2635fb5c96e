"""The Celery application. Rows are the result, so there is no result backend."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "eqstudio.settings")

app = Celery("eqstudio")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
