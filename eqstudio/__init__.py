"""Kernel and composition root of the studio."""

from eqstudio.celery import app as celery_app

__all__ = ["celery_app"]
__version__ = "0.1.0"
