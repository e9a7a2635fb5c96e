"""The demo's one task: beat starts it, and it goes on while there is something to do."""

from __future__ import annotations

from django.core.cache import cache
from django.utils import timezone

from eqstudio.jobs import io_task
from evaluation.demo.advance import demo_advance
from generation.models import Corpus

LEASE_S = 120
_KEY = "demo-advance"


@io_task
def demo_step() -> None:
    """Take one step of the demo, unless one is under way; without demo data this is one cheap query."""
    if not Corpus.objects.filter(is_demo=True).exists() or not cache.add(_KEY, "under way", LEASE_S):
        return
    try:
        done = demo_advance(now=timezone.now())
    finally:
        cache.delete(_KEY)
    if done:
        demo_step.delay()
